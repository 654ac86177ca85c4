//! A person without a browser, and clients that log in with them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use contexture::auth::client::{CallbackParams, Visiting};
use contexture::auth::{Authorization, MemoryStore, Visit, Visitor};
use contexture::{AuthorizationFailure, AuthorizationStep, Client, Error, Result};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::World;

/// Where the person would come back to.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// Goes where they are sent, and comes back with what they got.
#[derive(Clone, Default)]
pub(crate) struct Person {
    visits: Arc<AtomicUsize>,
    /// Comes back with this instead.
    pub(crate) instead: Arc<Mutex<Option<String>>>,
    /// The last that they came back with.
    pub(crate) last: Arc<Mutex<Option<String>>>,
}

impl Person {
    pub(crate) fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

impl Visitor for Person {
    fn prepare<'a>(&'a self, _: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Visit>) })
    }
}

impl Visit for Person {
    fn redirect_uri(&self) -> &str {
        REDIRECT
    }

    fn go<'a>(self: Box<Self>, url: &'a str, _: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            self.visits.fetch_add(1, Ordering::SeqCst);
            let back = location(url).await;
            *self.last.lock().expect("a lock") = Some(back.clone());
            let instead = self.instead.lock().expect("a lock").take();
            CallbackParams::parse(&instead.unwrap_or(back))
        })
    }
}

/// Where a page leads to.
pub(crate) async fn location(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("on this machine");
    let (host, target) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = TcpStream::connect(host).await.expect("a connection");
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("no redirect: {answer}")).to_owned()
}

impl World {
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.mcp)
    }

    /// Connects, and uses a tool.
    pub(crate) async fn use_with(&self, policy: Authorization) -> Result<Client> {
        let client = Client::builder().authorization(policy).connect(self.url()).await?;
        client.call("add", json!({ "a": 1, "b": 2 })).await?.ok()?;
        Ok(client)
    }

    /// The same, with a fresh person and an empty store. Says why it failed.
    pub(crate) async fn fails(&self) -> AuthorizationFailure {
        failure(self.use_with(policy(&Person::default())).await.err())
    }
}

/// A person who logs in, and forgets.
pub(crate) fn policy(person: &Person) -> Authorization {
    Authorization::visitor(person.clone()).store(MemoryStore::new())
}

pub(crate) fn failure(error: Option<Error>) -> AuthorizationFailure {
    match error {
        Some(Error::Authorization(failure)) => *failure,
        other => panic!("no failure of authorization: {other:?}"),
    }
}

/// The step that failed.
pub(crate) fn step(error: Option<Error>) -> AuthorizationStep {
    failure(error).step
}
