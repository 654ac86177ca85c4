//! E22, E24, E25: tokens stay where they belong.

use contexture::auth::{Issuer as Trusted, Protection, Secret};
use contexture::{Context, Server, tool};
use contexture_judge::Events;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::issuer::{Issuer, Mood};
use super::protected::Protected;
use super::setup::Kept;
use super::support::{EVERY, LEGACY, Peer, Site, hello, request, server, text_of};

/// E24: what a handler can hand on to others has no token in it.
// covers: AUTH-NO-PASSTHROUGH, AUTH-SERVER-NO-OTHER-TOKENS, AUTH-TOKEN-STORAGE
#[tokio::test]
async fn handlers_do_not_see_the_token() {
    let protected = Protected::start().await;
    let token = protected.token("ada", "");
    for revision in EVERY {
        let peer = Peer::known(&protected.site, revision, &token).await;
        let call = |tool: &str| peer.request("tools/call", json!({ "name": tool, "arguments": {} }));
        for tool in ["headers", "claims", "who"] {
            let ask = peer.post(&call(tool)).with("authorization", &format!("bearer {token}"));
            let seen = text_of(&ask.and("x-mine", "kept").send().await.answer().await);
            assert!(
                !seen.contains(&token) && !seen.to_lowercase().contains("authorization"),
                "E24 {tool}: {seen}"
            );
            assert!(tool != "headers" || seen.contains("x-mine"), "E24: {seen}");
        }
    }
}

/// E24: a server that hands on all that it was given to somebody else does not hand on the token.
// covers: AUTH-NO-PASSTHROUGH
#[tokio::test]
async fn what_is_handed_on_has_no_token() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = upstream.local_addr().expect("an address");
    let forward = tool("forward").handler(move |context: Context| async move {
        let mut text = String::from("GET / HTTP/1.1\r\n");
        for (name, value) in context.headers().expect("this is HTTP") {
            text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
        let mut stream = TcpStream::connect(address).await.expect("somebody listens");
        stream.write_all(format!("{text}\r\n").as_bytes()).await.expect("it is sent");
        "forwarded"
    });
    let issuer = Issuer::start().await;
    let server = Server::new("test", "1").tool(forward);
    let site = Site::with(server, |http| http.protect(issuer.url.as_str())).await;
    let token = issuer.token("ada", &format!("http://{}/mcp", site.address), "");
    for revision in EVERY {
        let peer = Peer::known(&site, revision, &token).await;
        assert_eq!(peer.tool("forward").await, "forwarded");
        let (mut stream, _) = upstream.accept().await.expect("it was called");
        let mut seen = String::new();
        stream.read_to_string(&mut seen).await.expect("text");
        assert!(seen.contains("content-type") && !seen.contains(&token), "E24 {revision}: {seen}");
        assert!(!seen.to_lowercase().contains("authorization"), "E24 {revision}: {seen}");
    }
}

/// E25: whatever is refused, and why, the token is in no event, no answer and no header.
// covers: AUTH-TOKEN-STORAGE, AUTH-NO-DATA-LEAK
#[tokio::test]
async fn tokens_are_in_no_log_and_no_answer() {
    const MARK: &str = "MARKEDSECRET";
    let events = Events::on_this_thread();
    let protected =
        Protected::trusting(|issuer| issuer.introspection("server", format!("{MARK}-client"))).await;
    let plain = Protected::start().await;
    let marked = {
        let mut claims = plain.issuer.claims("ada", "https://other.example", "");
        claims["jti"] = json!(MARK);
        plain.issuer.sign(&claims)
    };
    let payload = marked.split('.').nth(1).expect("claims").to_owned();
    let opaque = format!("{MARK}-opaque");
    let mut replies =
        vec![plain.who(&marked).await, protected.who(&opaque).await, protected.who(&marked).await];
    for value in [format!("Bearer  {MARK}"), format!("Bearer {MARK} {MARK}"), format!("Basic {MARK}")] {
        replies.push(plain.call("who").and("authorization", &value).send().await);
    }
    replies.push(plain.call("who").to(&format!("/mcp?access_token={MARK}")).send().await);
    for mood in [Mood::Broken, Mood::Html, Mood::Huge] {
        protected.issuer.is(mood);
        replies.push(protected.who(&format!("{MARK}-{mood:?}")).await);
    }
    for mut reply in replies {
        assert_ne!(reply.status, 200);
        let challenge = reply.header("www-authenticate").unwrap_or_default().to_owned();
        let body = reply.text().await;
        for text in [challenge, body] {
            assert!(!text.contains(MARK) && !text.contains(&payload), "E25: {text}");
        }
    }
    for secret in [MARK, &payload] {
        assert_eq!(events.containing(secret), [""; 0], "E25");
    }
    let shown =
        format!("{:?}", Protection::new(Trusted::new("https://issuer.example").introspection("a", MARK)));
    assert!(!shown.contains(MARK), "E25: {shown}");
}

/// E22: a secret is compared without telling how near a guess was.
#[test]
fn secrets_are_compared_as_a_whole() {
    let secret = Secret::new("correct horse");
    for guess in ["", "c", "correct hors", "correct horse ", "Correct horse", "correct horsf"] {
        assert!(!secret.is(guess), "E22 {guess}");
    }
    assert!(secret.is("correct horse"));
    assert_eq!(format!("{secret:?}"), "***");
}

/// What is stored about a session is who owns it, and no token.
#[tokio::test]
async fn sessions_keep_no_tokens() {
    let issuer = Issuer::start().await;
    let kept = Kept::default();
    let (server, _calls) = server();
    let store = kept.clone();
    let protection = Protection::new(issuer.url.as_str());
    let site = Site::with(server, |http| http.protect(protection).session_store(store)).await;
    let token = issuer.token("ada", &format!("http://{}/mcp", site.address), "files:read");
    let hello = request(1, "initialize", hello(LEGACY[3], json!({})));
    let reply = site.post(&hello).and("authorization", &format!("Bearer {token}")).send().await;
    assert_eq!(reply.status, 200);
    let kept = kept.text();
    assert!(kept.contains("ada") && kept.contains(&issuer.url), "{kept}");
    assert!(!kept.contains(&token) && !kept.contains("files:read"), "{kept}");
}
