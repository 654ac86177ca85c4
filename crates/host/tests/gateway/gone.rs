//! A client of the older era over HTTP that is cut off has not cancelled, says its revision: its call goes on. What a person is
//! asked for it is taken back when its session is over.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contexture::Policy;
use contexture::revision::Era;
use contexture_host::consent::PolicyConfig;
use contexture_host::{Host, Services};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::consent::Away;
use super::rich;
use super::support::{Site, at, config, until};

/// A gateway whose person is away, in front of a server, with sessions that last so long without use.
struct Scene {
    away: Away,
    host: Arc<Host>,
    site: Site,
    _behind: Site,
}

impl Scene {
    async fn new(idle: Duration) -> Self {
        let behind = Site::of(rich::server(Era::Modern)).await;
        let mut config = config(vec![at("up", &behind.url)]);
        config.policy = PolicyConfig::default();
        let away = Away::default();
        let services = Services { person: Some(Arc::new(away.clone())), ..Services::default() };
        let host = Host::start(config, services).await.expect("a configuration that makes sense");
        let mut policy = Policy::default();
        policy.session_idle = idle;
        let site = Site::of(host.server().policy(policy)).await;
        Self { away, host, site, _behind: behind }
    }

    /// Sends a request by hand.
    async fn send(&self, verb: &str, session: Option<&str>, body: Option<Value>) -> TcpStream {
        let host = self.site.url.trim_start_matches("http://").split('/').next().expect("an address");
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(host).await.expect("it listens");
        let head = format!(
            "{verb} /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{session}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream
    }

    async fn ask(&self, verb: &str, session: Option<&str>, body: Option<Value>) -> String {
        let mut answer = String::new();
        self.send(verb, session, body).await.read_to_string(&mut answer).await.expect("an answer");
        answer
    }

    /// A session whose one call waits for the person; its connection is cut off.
    async fn cut_off(&self) -> String {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                            "clientInfo": { "name": "raw", "version": "0" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
        let head = self.ask("POST", None, Some(hello)).await;
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.ask("POST", Some(id), Some(ready)).await;
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                           "params": { "name": "up__echo", "arguments": { "text": "x" } } });
        let calling = self.send("POST", Some(id), Some(call)).await;
        until("they are asked", || async { (self.away.asked.load(Ordering::SeqCst) == 1).then_some(()) })
            .await;
        drop(calling);
        id.to_owned()
    }

    async fn is_taken_back(&self) {
        until("the question is taken back", || async {
            (self.away.taken_back.load(Ordering::SeqCst) == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_session_that_is_ended_takes_its_questions_back() {
    let scene = Scene::new(Duration::from_secs(600)).await;
    let id = scene.cut_off().await;
    // Whoever asks something else meanwhile is answered: the call still waits.
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    assert!(scene.ask("POST", Some(&id), Some(list)).await.contains("up__echo"));
    assert_eq!(scene.away.taken_back.load(Ordering::SeqCst), 0, "cut off is not cancelled");
    scene.ask("DELETE", Some(&id), None).await;
    scene.is_taken_back().await;
    scene.host.stop().await;
}

#[tokio::test]
async fn a_session_that_expires_takes_its_questions_back() {
    let scene = Scene::new(Duration::from_millis(300)).await;
    scene.cut_off().await;
    scene.is_taken_back().await;
    scene.host.stop().await;
}
