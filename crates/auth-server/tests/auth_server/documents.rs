//! Clients whose id is the address of a document that describes them, friendly and hostile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{Asking, Stage, approving, redemption, with};

/// A site that answers every request with the same, and counts them.
struct Site {
    address: SocketAddr,
    visits: Arc<AtomicUsize>,
}

impl Site {
    /// `answer` gets the site's own address.
    async fn new(answer: impl FnOnce(SocketAddr) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let (answer, visits) = (answer(address), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&visits);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let answer = answer.clone();
                tokio::spawn(async move {
                    let mut head = [0; 4096];
                    let _ = stream.read(&mut head).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self { address, visits }
    }

    async fn with_document(change: impl FnOnce(&mut Value)) -> Self {
        Self::new(|address| {
            let mut document = json!({
                "client_id": id(address), "client_name": "A page", "redirect_uris": ["http://127.0.0.1/callback"],
                "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
            });
            change(&mut document);
            answer("200 OK", "application/json", &document.to_string())
        })
        .await
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::Relaxed)
    }
}

fn id(address: SocketAddr) -> String {
    format!("http://{address}/client.json")
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_client_is_known_by_its_document() {
    let stage = Stage::new(approving()).await;
    let site = Site::with_document(|_| {}).await;
    let id = id(site.address);
    let code = stage.code(&Asking::new().with("client_id", &id)).await;
    let tokens = stage.post("/token", &with(&redemption(&code), "client_id", Some(&id))).await;
    assert!(tokens.status == 200 && tokens.json().get("refresh_token").is_some(), "{tokens:?}");
    assert_eq!(site.visits(), 1, "the document is kept for a while");
}

#[tokio::test]
async fn the_page_says_where_the_client_is_described() {
    let stage = Stage::new(crate::support::server()).await;
    let site = Site::with_document(|_| {}).await;
    let page =
        crate::support::Browser::new(&stage).asked(&Asking::new().with("client_id", &id(site.address))).await;
    for shown in ["A page", &id(site.address), "127.0.0.1:5000", "only what that says"] {
        assert!(page.body.contains(shown), "{shown}: {page:?}");
    }
}

#[tokio::test]
async fn a_redirect_uri_that_the_document_does_not_name_gets_a_page() {
    let stage = Stage::new(approving()).await;
    let site =
        Site::with_document(|document| document["redirect_uris"] = json!(["https://app.example/cb"])).await;
    let reply = stage.get(&Asking::new().with("client_id", &id(site.address)).target()).await;
    assert!(reply.status == 400 && reply.is_page(), "{reply:?}");
}

#[tokio::test]
async fn hostile_documents_describe_nobody() {
    let stage = Stage::new(approving()).await;
    let huge = "x".repeat(2_000_000);
    let sites = [
        Site::with_document(|document| document["client_id"] = json!("https://app.example/client.json"))
            .await,
        Site::with_document(|document| document["client_name"] = json!(null)).await,
        Site::with_document(|document| document["redirect_uris"] = json!(["javascript:alert(1)"])).await,
        Site::with_document(|document| document["client_secret"] = json!("x")).await,
        Site::with_document(|document| document["token_endpoint_auth_method"] = json!("client_secret_basic"))
            .await,
        Site::with_document(|document| document["padding"] = json!("x".repeat(20_000))).await,
        Site::with_document(|document| document["padding"] = json!(huge)).await,
        Site::new(|_| answer("200 OK", "application/json", "[]")).await,
        Site::new(|_| answer("200 OK", "application/json", &"[".repeat(10_000))).await,
        Site::new(|_| answer("200 OK", "text/html", "<html>")).await,
        Site::new(|_| answer("404 Not Found", "application/json", "{}")).await,
        Site::new(|_| "nonsense".to_owned()).await,
    ];
    for (index, site) in sites.iter().enumerate() {
        let id = id(site.address);
        let reply = stage.get(&Asking::new().with("client_id", &id).target()).await;
        assert!(reply.status == 400 && reply.is_page(), "{index}: {reply:?}");
        let token = stage.post("/token", &with(&redemption("x"), "client_id", Some(&id))).await;
        assert_eq!(token.refusal(), (401, "invalid_client".to_owned()), "{index}");
        assert!(site.visits() > 0, "{index}: it was asked");
    }
}

#[tokio::test]
async fn addresses_that_must_not_be_reached_are_not() {
    let stage = Stage::new(approving()).await;
    let canary = Site::with_document(|_| {}).await;
    let port = canary.address.port();
    let own = stage.address;
    let ids = [
        "http://10.0.0.1/c".to_owned(),
        "https://10.0.0.1/c".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://192.168.1.1/c".to_owned(),
        "https://[fd00::1]/c".to_owned(),
        "https://100.64.0.1/c".to_owned(),
        "https://0.0.0.0/c".to_owned(),
        "file:///etc/passwd".to_owned(),
        "ftp://127.0.0.1/c".to_owned(),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}/c?x"),
        format!("http://127.0.0.1:{port}/c#x"),
        format!("http://u@127.0.0.1:{port}/c"),
        format!("http://127.1:{port}/c"),
        format!("http://0x7f000001:{port}/c"),
        format!("http://127.0.0.1:{port}/a/../c"),
        format!("http://{own}/authorize"),
        format!("http://localhost:{}/jwks", own.port()),
        format!("HTTP://127.0.0.1:{port}/c"),
    ];
    for id in ids {
        let reply = stage.get(&Asking::new().with("client_id", &id).target()).await;
        assert!(reply.status == 400 && reply.is_page(), "{id}: {reply:?}");
    }
    assert_eq!(canary.visits(), 0);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    let stage = Stage::new(approving()).await;
    let location = "HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/client.json\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let site = Site::new(|_| location.to_owned()).await;
    let reply = stage.get(&Asking::new().with("client_id", &id(site.address)).target()).await;
    assert!(reply.status == 400 && reply.is_page(), "{reply:?}");
    assert_eq!(site.visits(), 1);
}
