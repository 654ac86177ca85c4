//! An application of one's own, with MCP at one of its paths: both share their state.
//!
//! `cargo run --example axum -- 127.0.0.1:8000`, then connect a client to `http://127.0.0.1:8000/mcp`.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract;
use axum::routing::get;
use contexture::{Server, State, tool};
use tokio::net::TcpListener;

/// Who was here.
#[derive(Clone, Default)]
struct Visits(Arc<Mutex<Vec<String>>>);

impl Visits {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<String>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Signs the book of visitors.
#[tool]
async fn visit(State(visits): State<Visits>, name: String) -> String {
    visits.with(|visits| visits.push(name.clone()));
    format!("Welcome, {name}")
}

/// The book, as a page.
async fn page(extract::State(visits): extract::State<Visits>) -> String {
    visits.with(|visits| visits.join("\n"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let visits = Visits::default();
    let mcp = Server::new("visits", "1.0.0").state(visits.clone()).tool(visit).into_http()?;
    let router = Router::new()
        .route("/visits", get(page))
        .route_service("/mcp", mcp.clone())
        // For clients of the oldest revision.
        .route_service("/sse", mcp.clone())
        .route_service("/messages", mcp)
        .with_state(visits);
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
