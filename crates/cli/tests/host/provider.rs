//! A model at an address of its own, as the configuration names it: keeps what it is asked.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What a request had: all headers as text, and the body.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// An endpoint with one model.
pub(crate) struct Provider {
    url: String,
    asked: Asked,
}

impl Provider {
    /// Answers always the same.
    pub(crate) async fn start() -> Self {
        let asked = Asked::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&asked));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    /// The section of the configuration.
    pub(crate) fn config(&self) -> Value {
        json!({
            "providers": { "here": { "kind": "openai", "url": self.url } },
            "models": [{ "name": "small", "provider": "here" }],
        })
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(_, body)| body.clone())
            .collect()
    }

    /// Everything that came, headers too.
    pub(crate) fn text(&self) -> String {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().map(|(head, body)| format!("{head}\n{body}\n")).collect()
    }
}

async fn answer(State(asked): State<Asked>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    asked.lock().unwrap_or_else(PoisonError::into_inner).push((format!("{headers:?}"), body));
    let answer = json!({
        "id": "1", "object": "chat.completion", "created": 1, "model": "small",
        "choices": [{ "index": 0, "finish_reason": "stop",
                      "message": { "role": "assistant", "content": "the model's own words" } }],
    });
    let response = Response::builder().header("content-type", "application/json");
    response.body(answer.to_string().into()).expect("a response")
}
