//! Servers that a client starts: their credentials come from the environment, and nobody logs in anywhere.

use contexture::auth::{Authorization, MemoryStore};
use contexture::client::Builder;
use contexture::revision::Revision;
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::{ChildCommand, ChildTransport};
use contexture::{Client, Error, Policy};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{example, judge};

// covers: AUTH-STDIO-ENV-CREDS
#[tokio::test]
async fn a_child_finds_its_credential_in_the_environment_and_the_wire_does_not_carry_it() {
    for revision in Revision::ALL {
        let command = ChildCommand::new(example("environment")).env("SHOP_KEY", "ada:open-sesame");
        let transcript = Transcript::new();
        let child = ChildTransport::spawn(&command, &Policy::default()).expect("it starts");
        let child = Recording::new(child, Side::Client, transcript.clone());
        let client = Client::builder().revisions(&[revision]).connect(child).await.expect("connected");
        let account = client.call("account", ()).await.expect("a reply").ok().expect("no failure");
        assert_eq!(account.text(), "ada", "{revision}: it has the key");
        client.close().await;
        assert!(!transcript.to_text().contains("open-sesame"), "{revision}");
        judge(&transcript);
    }
    let without = Client::spawn(ChildCommand::new(example("environment"))).await.expect_err("no key");
    assert!(without.to_string().contains("SHOP_KEY"), "it says what it needs: {without}");
}

/// Headers and logins are of HTTP: what is set for servers by URL reaches no child.
// covers: AUTH-STDIO-NO-OAUTH
#[tokio::test]
async fn what_proves_who_asks_over_http_is_not_shown_on_stdio() {
    for revision in Revision::ALL {
        let command = ChildCommand::new(example("environment")).env("SHOP_KEY", "ada:open-sesame");
        let transcript = Transcript::new();
        let child = ChildTransport::spawn(&command, &Policy::default()).expect("it starts");
        let child = Recording::new(child, Side::Client, transcript.clone());
        let client = able().revisions(&[revision]).connect(child).await.expect("connected");
        client.call("account", ()).await.expect("a reply").ok().expect("no failure");
        client.close().await;
        let said = transcript.to_text();
        assert!(!said.contains("hush") && !said.to_lowercase().contains("authorization"), "{said}");
    }
}

/// Plays a server that wants its client to log in, in the words that HTTP has for it.
async fn demand(peer: &mut RawPeer, revision: Revision, canary: &str) {
    let challenge = format!("Bearer resource_metadata=\"{canary}/.well-known/oauth-protected-resource\"");
    let refusal = json!({
        "code": -32001,
        "message": "401 Unauthorized",
        "data": { "status": 401, "WWW-Authenticate": challenge, "authorization_endpoint": canary },
    });
    let hello = peer.receive().await.expect("a beginning");
    let info = json!({ "name": "needy", "version": "1" });
    let result = match hello["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": revision.as_str(), "capabilities": { "tools": {} }, "serverInfo": info,
        }),
        _ => json!({
            "resultType": "complete", "supportedVersions": [revision.as_str()],
            "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": info },
        }),
    };
    peer.answer(&hello, result).await.expect("is sent");
    for _ in 0..2 {
        let call = peer.expect("tools/call").await.expect("a call");
        let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "error": refusal });
        peer.send(answer).await.expect("is sent");
    }
}

/// Whoever is connected by anything but HTTP is told no, and the application gets to hear it.
// covers: AUTH-STDIO-NO-OAUTH
#[tokio::test]
async fn a_server_on_stdio_cannot_send_its_client_to_log_in() {
    let canary = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", canary.local_addr().expect("an address"));
    for revision in Revision::ALL {
        let (mut peer, transport) = RawPeer::new();
        let calls = async {
            let client = able().revisions(&[revision]).connect(transport).await.expect("connected");
            for _ in 0..2 {
                let error = client.call("account", ()).await.expect_err("refused");
                let Error::Remote(error) = error else { panic!("{error:?}") };
                assert_eq!(error.code, -32001);
                assert_eq!(error.data.expect("as it came")["status"], Value::from(401));
            }
        };
        tokio::join!(calls, demand(&mut peer, revision, &address));
    }
    let visited = futures_util::FutureExt::now_or_never(canary.accept());
    assert!(visited.is_none(), "nobody came");
}

/// A client with everything that it could use to log in.
fn able() -> Builder {
    let login = Authorization::headless(|url| panic!("somebody was sent to {url}"));
    let login = login.client_id("hush-id").client_secret("hush-secret").store(MemoryStore::default());
    Client::builder().header("authorization", "Bearer hush").authorization(login)
}
