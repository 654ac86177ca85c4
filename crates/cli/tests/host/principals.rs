//! People who prove who they are: nothing of one is another's, and what they prove it with goes no further.

use contexture::Client;
use contexture::client::Builder;
use contexture::revision::Era;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::issuer::Issuer;
use crate::people::{Person, decides};
use crate::stage::{DENIED, Listening, Stage, refused};
use crate::upstream::{ERAS, Upstream, revisions};

fn token(issuer: &Issuer, person: &str, gateway: &Listening) -> String {
    format!("Bearer {}", issuer.token(person, &gateway.url, ""))
}

async fn connect(gateway: &Listening, token: &str, era: Era, builder: Builder) -> Client {
    let builder = builder.revisions(revisions(era)).header("Authorization", token);
    builder.connect(&gateway.url).await.expect("a client")
}

/// A POST by hand: the status, the head and the body of the answer.
async fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String, String) {
    let (host, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    let mut head = format!("POST /{path} HTTP/1.1\r\nconnection: close\r\n");
    let own = [
        ("host", host),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for (name, value) in
        own.iter().filter(|(own, _)| headers.iter().all(|(name, _)| name != own)).chain(headers)
    {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = body.to_string();
    let mut stream = TcpStream::connect(host).await.expect("it listens");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

fn hello() -> Value {
    let client = json!({ "name": "raw", "version": "0" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

// covers: SEC-DATA-ACCESS-CONTROL, SEC-IMPL-ACCESS-CONTROLS, SEC-SERVER-ISOLATION
#[tokio::test]
async fn nothing_of_one_person_is_anothers() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (issuer, notes) = (Issuer::start().await, Upstream::start("notes", server).await);
        let rules =
            json!([{ "tool": "write", "decision": "ask" }, { "kinds": ["tool"], "decision": "allow" }]);
        let stage = Stage::new(json!({ "notes": notes.entry() }), json!({ "policy": { "rules": rules } }));
        let gateway = stage.listen(&["--protect", &issuer.url]);
        let tokens = ["ada", "ben"].map(|name| token(&issuer, name, &gateway));
        let people = [Person::saying([decides("always")]), Person::saying([decides("deny")])];
        let ada = connect(&gateway, &tokens[0], client, people[0].client()).await;
        let ben = connect(&gateway, &tokens[1], client, people[1].client()).await;

        // What one of them has agreed to for good is nothing to the other.
        let letter = json!({ "path": "p", "text": "t" });
        for _ in 0..2 {
            assert_eq!(ada.call("notes__write", letter.clone()).await.expect("an answer").text(), "written");
        }
        assert_eq!(refused(ben.call("notes__write", letter).await).0, DENIED, "{client:?} {server:?}");
        assert_eq!((people[0].questions().len(), people[1].questions().len()), (1, 1));
        assert_eq!(notes.heard.calls("write").len(), 2, "{client:?} {server:?}");

        for (client, word) in [(&ada, "of-ada"), (&ben, "of-ben")] {
            client.call("notes__repeat", json!({ "word": word })).await.expect("an answer");
        }
        let heard = notes.heard.all();
        // No two of them meet on one connection, and who they are is proven here and nowhere else.
        let session = |word: &str| {
            let of =
                heard.iter().find(|it| it.message["params"]["arguments"]["word"] == word).expect("a call");
            of.head.lines().find(|line| line.starts_with("mcp-session-id")).map(str::to_owned)
        };
        if server == Era::Legacy {
            assert!(session("of-ada").is_some() && session("of-ada") != session("of-ben"), "{client:?}");
        }
        let text = notes.heard.text();
        for token in &tokens {
            let secret = token.rsplit('.').next().expect("a signature");
            assert!(!text.contains(secret) && !stage.said().contains(secret), "{client:?} {server:?}");
        }
        assert!(!text.contains("authorization:"), "{client:?} {server:?}: {text}");
        let subjects: Vec<Value> = stage
            .audited("call", "notes", "repeat")
            .iter()
            .map(|line| json!([line["issuer"], line["subject"]]))
            .collect();
        assert_eq!(
            subjects,
            [json!([issuer.url, "ada"]), json!([issuer.url, "ben"])],
            "{client:?} {server:?}"
        );
    }
}

// covers: SEC-DATA-ACCESS-CONTROL
#[tokio::test]
async fn a_session_is_of_the_one_who_opened_it() {
    let (issuer, notes) = (Issuer::start().await, Upstream::start("notes", Era::Legacy).await);
    let stage = Stage::new(json!({ "notes": notes.entry() }), json!({ "policy": { "default": "allow" } }));
    let gateway = stage.listen(&["--protect", &issuer.url]);
    let [ada, ben] = ["ada", "ben"].map(|name| token(&issuer, name, &gateway));
    let (status, head, _) = post(&gateway.url, &[("authorization", &ada)], &hello()).await;
    assert_eq!(status, 200, "{head}");
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                       "params": { "name": "notes__tell", "arguments": {} } });
    let theirs = [("authorization", ben.as_str()), ("mcp-session-id", session)];
    let (status, _, body) = post(&gateway.url, &theirs, &call).await;
    assert_eq!(status, 404, "{body}");
    let nobodys = [("mcp-session-id", session)];
    assert_eq!(post(&gateway.url, &nobodys, &call).await.0, 401);
    assert_eq!(notes.heard.calls("tell").len(), 0);
    let own = [("authorization", ada.as_str()), ("mcp-session-id", session)];
    let (status, _, body) = post(&gateway.url, &own, &call).await;
    assert!(status == 200 && body.contains("SECRET-OF-NOTES"), "{status} {body}");
}

// covers: SEC-IMPL-BEST-PRACTICES
#[tokio::test]
async fn nobody_is_served_by_accident() {
    let notes = Upstream::start("notes", Era::Legacy).await;
    let stage = Stage::new(json!({ "notes": notes.entry() }), json!({ "policy": { "default": "allow" } }));
    // Other machines, without a word about who may come.
    let (status, said) = stage.fails(&["--listen", "0.0.0.0:0"]);
    assert!(!status.success() && said.contains("--protect"), "{said}");
    // Pages of other sites, and names that are not ours.
    let gateway = stage.listen(&[]);
    for header in [("origin", "http://evil.example"), ("origin", "null"), ("host", "evil.example")] {
        let (status, head, _) = post(&gateway.url, &[header], &hello()).await;
        assert_eq!(status, 403, "{header:?}: {head}");
    }
    assert_eq!(post(&gateway.url, &[], &hello()).await.0, 200);
    assert!(notes.heard.of("tools/call").is_empty());
}
