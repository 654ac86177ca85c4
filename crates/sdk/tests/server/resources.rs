//! Resources: what may be registered, what is read, who is told of changes, and which URIs are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use contexture::model::{Annotations, ErrorObject};
use contexture::server::{Uri, layers};
use contexture::{Args, Error, Server, resource};
use serde_json::{Value, json};

use super::support::{EVERY, LEGACY, MODERN, Peer, with_meta};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Path {
    path: String,
}

fn server() -> Server {
    Server::new("resources", "1")
        .resource(resource("demo://note").name("note").mime_type("text/markdown").text("# Grüße 🌍"))
        .resource(resource("demo://bytes").bytes((0..=255).collect::<Vec<u8>>()))
        .resource(resource("files:///{+path}").handler(|Args(found): Args<Path>| async move { found.path }))
        .resource(resource("demo://broken").handler(|| async { Err::<String, _>("the disk is on fire") }))
        .resource(resource("demo://gone").handler(|| async { Err::<String, _>(Error::NotFound) }))
        .resource(resource("demo://panics").handler(|| async { if true { panic!("a secret") } else { "" } }))
}

fn not_found(revision: &str) -> i64 {
    if revision == MODERN { -32602 } else { -32002 }
}

// covers: RES-CAP-DECLARE
#[tokio::test]
async fn the_capability_follows_from_the_resources() {
    for revision in EVERY {
        let with = Peer::speaking(server(), revision, json!({})).await;
        assert!(with.capabilities()["resources"].is_object(), "{revision}");
        let only_template =
            Server::new("t", "1").resource(resource("demo://{name}").handler(|| async { "" }));
        let mut template = Peer::speaking(only_template, revision, json!({})).await;
        assert!(template.capabilities()["resources"].is_object(), "{revision}");
        assert_eq!(template.call("resources/list", json!({})).await["result"]["resources"], json!([]));

        let mut without = Peer::speaking(Server::new("none", "1"), revision, json!({})).await;
        assert_eq!(without.capabilities().get("resources"), None, "{revision}");
        for method in ["resources/list", "resources/templates/list", "resources/read", "resources/subscribe"]
        {
            let refused = without.call(method, json!({ "uri": "demo://note" })).await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {method} {refused}");
        }
    }
}

// covers: RES-CAP-SUBFEATURES, RES-LIST-CHANGED, RES-SUBSCRIBE-NEEDS-CAP
#[tokio::test]
async fn subscribing_and_announcing_are_independent() {
    let uri = json!({ "uri": "demo://note" });
    for revision in LEGACY {
        for (subscribe, announce) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut server = server();
            if !subscribe {
                server = server.without_subscriptions();
            }
            if !announce {
                server = server.without_list_changed();
            }
            let mut peer = Peer::session(server, revision, json!({})).await;
            let declared = &peer.capabilities()["resources"];
            assert_eq!(declared.get("subscribe").is_some_and(|flag| flag == true), subscribe, "{declared}");
            assert_eq!(declared.get("listChanged").is_some_and(|flag| flag == true), announce, "{declared}");

            let answer = peer.call("resources/subscribe", uri.clone()).await;
            assert_eq!(answer.get("result").is_some(), subscribe, "{answer}");
            assert!(subscribe || answer["error"]["code"] == -32601, "{answer}");
            let registry = peer.registry();
            registry.resource_updated("demo://note");
            assert_eq!(told(&mut peer, "notifications/resources/updated").await, usize::from(subscribe));
            registry.add_resource(resource("demo://late").text("late")).expect("a new URI");
            assert_eq!(told(&mut peer, "notifications/resources/list_changed").await, usize::from(announce));
            assert!(registry.remove_resource("demo://late"));
            assert_eq!(told(&mut peer, "notifications/resources/list_changed").await, usize::from(announce));
        }
    }
}

/// How many notifications of this method, and no others, have come.
async fn told(peer: &mut Peer, method: &str) -> usize {
    let seen = peer.settle().await.expect("ready");
    assert!(
        seen.iter().all(|message| message["method"] == method && message.get("id").is_none()),
        "{seen:?}"
    );
    seen.len()
}

// covers: RES-UPDATED-ONLY-SUBSCRIBED, RES-UNSUBSCRIBE-FOLLOWS
#[tokio::test]
async fn only_subscribers_are_told_and_only_until_they_unsubscribe() {
    let uri = json!({ "uri": "demo://note" });
    for revision in LEGACY {
        let built = server().build().expect("complete");
        let (mut subscriber, mut other) = (Peer::of_built(&built), Peer::of_built(&built));
        for peer in [&mut subscriber, &mut other] {
            peer.initialize(revision, json!({})).await.expect("a session");
        }
        // Twice is once.
        for _ in 0..2 {
            assert_eq!(subscriber.call("resources/subscribe", uri.clone()).await["result"], json!({}));
        }
        built.registry().resource_updated("demo://note");
        built.registry().resource_updated("demo://bytes");
        let update = subscriber.expect("notifications/resources/updated").await.expect("told");
        assert_eq!(update["params"], uri);
        assert_eq!(
            told(&mut subscriber, "notifications/resources/updated").await,
            0,
            "only what was asked for"
        );
        assert_eq!(told(&mut other, "notifications/resources/updated").await, 0);

        assert_eq!(subscriber.call("resources/unsubscribe", uri.clone()).await["result"], json!({}));
        built.registry().resource_updated("demo://note");
        assert_eq!(told(&mut subscriber, "notifications/resources/updated").await, 0);
        let unmatched = other.call("resources/unsubscribe", uri.clone()).await;
        assert!(unmatched.get("result").or(unmatched.get("error")).is_some(), "no crash: {unmatched}");
        assert_eq!(told(&mut other, "notifications/resources/updated").await, 0);
    }
}

// covers: RES-UPDATED-ONLY-SUBSCRIBED
#[tokio::test]
async fn a_modern_stream_carries_what_it_asked_for() {
    let mut peer = Peer::speaking(server(), MODERN, json!({})).await;
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["demo://note"], "resourcesListChanged": true } });
    let id = peer.start("subscriptions/listen", with_meta(wanted.clone(), json!({}))).await.expect("sent");
    let first = peer.receive().await.expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], wanted["notifications"]);
    peer.registry().resource_updated("demo://bytes");
    peer.registry().resource_updated("demo://note");
    let update = peer.receive().await.expect("told");
    assert_eq!(update["params"]["uri"], "demo://note");
    assert_eq!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    peer.registry().remove_resource("demo://gone");
    assert_eq!(peer.receive().await.expect("told")["method"], "notifications/resources/list_changed");
    peer.notify("notifications/cancelled", json!({ "requestId": id })).await.expect("sent");
    peer.settle().await.expect("closed");
    peer.registry().resource_updated("demo://note");
    assert_eq!(peer.settle().await.expect("silent"), Vec::<Value>::new());
}

// covers: RES-URI-IDENTIFIER, RES-CUSTOM-SCHEME, RES-CUSTOM-SCHEME-FREE, RES-READ-ANY-SCHEME
#[tokio::test]
async fn every_resource_has_a_uri_of_its_own() {
    let text = |uri: &str| resource(uri).text("found");
    let bad =
        ["", "no-scheme", "1abc:x", "my_scheme:x", "demo://a b", "demo://ü", "demo://%zz", "demo://a#b#c"];
    for uri in bad {
        assert!(Server::new("bad", "1").resource(text(uri)).build().is_err(), "{uri:?}");
    }
    assert!(Server::new("twice", "1").resource(text("demo://a")).resource(text("demo://a")).build().is_err());

    let good = ["x-my.app+v1:thing", "myapp://x", "urn:isbn:1", "demo://A%2FB?q=1#part", "MYAPP://x"];
    for revision in EVERY {
        let server = good.iter().fold(Server::new("good", "1"), |server, uri| {
            server.resource(resource(*uri).handler(|Uri(uri): Uri| async move { uri }))
        });
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let listed = peer.call("resources/list", json!({})).await["result"]["resources"].clone();
        let listed: Vec<_> =
            listed.as_array().expect("a list").iter().map(|found| found["uri"].clone()).collect();
        assert_eq!(listed, good);
        for uri in good {
            let read = peer.call("resources/read", json!({ "uri": uri })).await["result"]["contents"].clone();
            assert_eq!((&read[0]["uri"], &read[0]["text"]), (&json!(uri), &json!(uri)), "byte for byte");
        }
    }
}

// covers: RES-TEMPLATE-RFC6570, RES-TEMPLATE-MIME
#[tokio::test]
async fn templates_are_those_of_rfc_6570() {
    for template in ["demo://{", "demo://{a b}", "demo://{a}{b}", "demo://{!a}", "demo://{a:x}"] {
        let server = Server::new("bad", "1").resource(resource(template).handler(|| async { "" }));
        assert!(server.build().is_err(), "{template}");
    }
    for revision in EVERY {
        let server = server().resource(resource("t://{a}").mime_type("text/csv").handler(|| async { "1,2" }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let listed =
            peer.call("resources/templates/list", json!({})).await["result"]["resourceTemplates"].clone();
        assert_eq!(listed[0]["uriTemplate"], "files:///{+path}");
        assert_eq!(listed[0].get("mimeType"), None, "nothing is said about what may differ");
        assert_eq!(listed[1]["mimeType"], "text/csv");
        let read = peer.call("resources/read", json!({ "uri": "files:///a/b%20c.txt" })).await;
        assert_eq!(read["result"]["contents"][0]["text"], "a/b c.txt");
        let read = peer.call("resources/read", json!({ "uri": "t://x" })).await;
        assert_eq!(read["result"]["contents"][0]["mimeType"], "text/csv");
    }
}

// covers: RES-TEXT-ONLY-TEXT, RES-SEC-BINARY, RES-SIZE-RAW
#[tokio::test]
async fn bytes_are_blobs_and_text_is_text() {
    use base64::Engine as _;
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        let read =
            peer.call("resources/read", json!({ "uri": "demo://bytes" })).await["result"]["contents"].clone();
        assert_eq!(read[0].get("text"), None, "never lossy text");
        let encoded = read[0]["blob"].as_str().expect("base64");
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).expect("padded, standard");
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        let read =
            peer.call("resources/read", json!({ "uri": "demo://note" })).await["result"]["contents"].clone();
        assert_eq!((&read[0]["text"], &read[0]["mimeType"]), (&json!("# Grüße 🌍"), &json!("text/markdown")));
        assert_eq!(read[0].get("blob"), None);

        let listed = peer.call("resources/list", json!({})).await["result"]["resources"].clone();
        let sizes: Vec<_> = [&listed[0], &listed[1]].iter().map(|found| found.get("size").cloned()).collect();
        let expected = [Some(json!("# Grüße 🌍".len())), Some(json!(256))];
        assert!(
            sizes == expected || sizes == [None, None] && revision == "2025-03-26",
            "{revision} {sizes:?}"
        );
    }
}

// covers: RES-ANNOT-LASTMODIFIED
#[tokio::test]
async fn the_time_of_change_is_told_where_the_revision_has_it() {
    for revision in EVERY {
        let annotations = Annotations::new().last_modified("2025-01-12T15:00:58Z");
        let dated = resource("demo://dated").annotations(annotations).text("old");
        let mut peer = Peer::speaking(Server::new("dated", "1").resource(dated), revision, json!({})).await;
        let listed = peer.call("resources/list", json!({})).await["result"]["resources"].clone();
        let found = listed[0]["annotations"].get("lastModified").cloned();
        let has = !matches!(revision, "2024-11-05" | "2025-03-26");
        assert_eq!(found, has.then(|| json!("2025-01-12T15:00:58Z")), "{revision}");
    }
}

// covers: RES-FILE-VIRTUAL, RES-FILE-XDG
#[tokio::test]
async fn files_need_not_exist() {
    for revision in EVERY {
        let server = Server::new("virtual", "1")
            .resource(resource("file:///no/such/file").text("from memory"))
            .resource(resource("file:///no/such").mime_type("inode/directory").text(""));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let read = peer.call("resources/read", json!({ "uri": "file:///no/such/file" })).await;
        assert_eq!(read["result"]["contents"][0]["text"], "from memory");
        let listed = peer.call("resources/list", json!({})).await["result"]["resources"].clone();
        assert_eq!(listed[1]["mimeType"], "inode/directory");
        let read = peer.call("resources/read", json!({ "uri": "file:///no/such" })).await;
        assert_eq!(read["result"]["contents"][0]["mimeType"], "inode/directory");
    }
}

// covers: RES-ERR-NOT-FOUND, RES-ERR-INTERNAL
#[tokio::test]
async fn failures_are_told_apart() {
    for revision in EVERY {
        let own =
            resource("demo://own").handler(|| async { Err::<String, _>(ErrorObject::new(-32050, "own")) });
        let mut peer = Peer::speaking(server().resource(own), revision, json!({})).await;
        for (uri, code) in [
            ("demo://nobody", not_found(revision)),
            ("demo://gone", not_found(revision)),
            ("demo://broken", -32603),
            ("demo://panics", -32603),
            ("demo://own", -32050),
        ] {
            let refused = peer.call("resources/read", json!({ "uri": uri })).await;
            assert_eq!(refused["error"]["code"], code, "{revision} {uri} {refused}");
            assert!(code != not_found(revision) || refused["error"]["data"]["uri"] == uri, "{refused}");
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
        let read = peer.call("resources/read", json!({ "uri": "demo://note" })).await;
        assert!(read["result"].is_object(), "the session goes on");
    }
}

// covers: RES-SEC-VALIDATE-URI
#[tokio::test]
async fn uris_that_are_malformed_or_climb_are_refused() {
    let malformed = ["", "note", "demo://no te", "demo://%g0", "demo://ü", "1demo://note"];
    let strange = [
        "files:///../etc/passwd",
        "files:///a/../../etc/passwd",
        "files:///%2e%2e/etc/passwd",
        "files:///a/%2E%2e%2fetc",
        "files:///..%2fetc",
        "files:///%2fetc/passwd",
        "files:////etc/passwd",
        "files:///a%00b",
        "files:///..\\etc",
        "unknown://note",
        "file:///etc/passwd",
    ];
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        for uri in malformed.iter().chain(&strange) {
            let refused = peer.call("resources/read", json!({ "uri": uri })).await;
            let code = refused["error"]["code"].as_i64().expect("an error");
            let expected = if malformed.contains(uri) { -32602 } else { not_found(revision) };
            assert!(code == expected || code == -32602, "{revision} {uri:?} {refused}");
            if revision != MODERN {
                let refused = peer.call("resources/subscribe", json!({ "uri": uri })).await;
                assert!(refused.get("error").is_some(), "{revision} {uri:?} {refused}");
            }
        }
    }
}

/// A server whose note may be read only while the flag is up, and how often it was.
fn guarded() -> (Server, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (open, read) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (allowed, counter) = (Arc::clone(&open), Arc::clone(&read));
    let secret = resource("demo://secret").handler(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        async { "told" }
    });
    let server = server().resource(secret).layer(layers::authorize(move |_, access| {
        access != layers::Access::Resource("demo://secret") || allowed.load(Ordering::Relaxed)
    }));
    (server, open, read)
}

// covers: RES-SEC-ACCESS, RES-SEC-PERMS
#[tokio::test]
async fn permission_is_asked_for_every_operation() {
    let uri = json!({ "uri": "demo://secret" });
    for revision in EVERY {
        let (server, open, read) = guarded();
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let listed = peer.call("resources/list", json!({})).await.to_string();
        assert!(listed.contains("demo://secret"));
        open.store(false, Ordering::Relaxed);
        let refused = peer.call("resources/read", uri.clone()).await;
        assert_eq!(refused["error"]["code"], not_found(revision), "{refused}");
        assert_eq!(read.load(Ordering::Relaxed), 0, "the handler did not run");
        let listed = peer.call("resources/list", json!({})).await.to_string();
        assert!(!listed.contains("demo://secret"), "{listed}");
        open.store(true, Ordering::Relaxed);
        let read = peer.call("resources/read", uri.clone()).await;
        assert_eq!(read["result"]["contents"][0]["text"], "told");
    }
}

// covers: RES-SEC-PERMS
#[tokio::test]
async fn who_may_no_longer_know_is_not_told() {
    let uri = json!({ "uri": "demo://secret" });
    for revision in LEGACY {
        let (server, open, _) = guarded();
        let mut peer = Peer::session(server, revision, json!({})).await;
        open.store(false, Ordering::Relaxed);
        let refused = peer.call("resources/subscribe", uri.clone()).await;
        assert_eq!(refused["error"]["code"], not_found(revision), "{refused}");
        open.store(true, Ordering::Relaxed);
        assert_eq!(peer.call("resources/subscribe", uri.clone()).await["result"], json!({}));
        peer.registry().resource_updated("demo://secret");
        peer.expect("notifications/resources/updated").await.expect("told while allowed");
        open.store(false, Ordering::Relaxed);
        peer.registry().resource_updated("demo://secret");
        assert_eq!(told(&mut peer, "notifications/resources/updated").await, 0);
    }
}

// covers: RES-SEC-PERMS
#[tokio::test]
async fn a_modern_stream_does_not_tell_what_may_not_be_known() {
    let (server, open, _) = guarded();
    let mut peer = Peer::speaking(server, MODERN, json!({})).await;
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["demo://secret", "demo://note"] } });
    let acknowledged = "notifications/subscriptions/acknowledged";
    open.store(false, Ordering::Relaxed);
    let first = peer.start("subscriptions/listen", with_meta(wanted.clone(), json!({}))).await.expect("sent");
    let honoured = peer.expect(acknowledged).await.expect("open");
    assert_eq!(honoured["params"]["notifications"], json!({ "resourceSubscriptions": ["demo://note"] }));
    peer.notify("notifications/cancelled", json!({ "requestId": first })).await.expect("sent");

    open.store(true, Ordering::Relaxed);
    peer.start("subscriptions/listen", with_meta(wanted.clone(), json!({}))).await.expect("sent");
    let honoured = peer.expect(acknowledged).await.expect("open");
    assert_eq!(honoured["params"]["notifications"], wanted["notifications"]);
    peer.registry().resource_updated("demo://secret");
    peer.expect("notifications/resources/updated").await.expect("told while allowed");
    open.store(false, Ordering::Relaxed);
    peer.registry().resource_updated("demo://secret");
    assert_eq!(told(&mut peer, "notifications/resources/updated").await, 0);
}

#[tokio::test]
async fn subscriptions_are_bounded() {
    let mut policy = contexture::Policy::default();
    policy.subscriptions = 2;
    let mut peer = Peer::session(server().policy(policy), "2025-11-25", json!({})).await;
    for (number, works) in [(1, true), (2, true), (3, false)] {
        let answer = peer.call("resources/subscribe", json!({ "uri": format!("files:///{number}") })).await;
        assert_eq!(answer.get("result").is_some(), works, "{answer}");
    }
    assert_eq!(peer.call("resources/unsubscribe", json!({ "uri": "files:///1" })).await["result"], json!({}));
    assert!(peer.call("resources/subscribe", json!({ "uri": "files:///3" })).await.get("result").is_some());
}

/// Whether the builder or the attribute is given a URI of the web. Methods and functions whose names only end alike
/// are about other things, such as where a protected server is.
fn makes_resources_of_the_web(text: &str) -> bool {
    let is_other =
        |before: &str| before.ends_with(|last: char| last.is_alphanumeric() || "._".contains(last));
    text.match_indices(concat!("resource(\"", "https:")).any(|(at, _)| !is_other(&text[..at]))
}

// covers: RES-HTTPS-OTHERWISE
#[test]
fn what_the_server_reads_for_the_client_has_a_scheme_of_its_own() {
    let source = include_str!("../../src/server/resource.rs");
    let (before, _) = source.split_once("pub fn resource(").expect("the builder");
    let documentation = before.rsplit_once("\n\n").expect("its documentation").1;
    assert!(
        documentation.contains("`https:` only for what clients can fetch from the web"),
        "{documentation}"
    );

    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.join("../README.md"), crates];
    let mut looked_at = 0;
    while let Some(path) = folders.pop() {
        if let Ok(entries) = std::fs::read_dir(&path) {
            folders.extend(entries.filter_map(Result::ok).map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            looked_at += 1;
            assert!(!makes_resources_of_the_web(&text), "{}", path.display());
        }
    }
    assert!(looked_at > 50, "the whole project was looked at, not {looked_at} files");
}
