//! Whole clients and whole servers over real sockets, in every revision.
#![cfg(feature = "http-server")]

use std::sync::Arc;
use std::time::Duration;

use contexture::client::{ElicitAnswer, Elicitation, Event, Events};
use contexture::model::LoggingLevel;
use contexture::revision::Revision;
use contexture::server::HttpServer;
use contexture::{Args, Client, Context, Error, Server, resource, tool};
use serde_json::json;
use tokio::sync::Notify;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// A tool that runs until it is cancelled, and says so.
fn patient(begun: &Arc<Notify>, cancelled: &Arc<Notify>) -> impl contexture::server::IntoTool + use<> {
    let (begun, cancelled) = (Arc::clone(begun), Arc::clone(cancelled));
    tool("wait").handler(move |ctx: Context| {
        let (begun, cancelled) = (Arc::clone(&begun), Arc::clone(&cancelled));
        async move {
            let on_drop = Told(cancelled);
            begun.notify_one();
            ctx.cancelled().await;
            drop(on_drop);
            "cancelled"
        }
    })
}

struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn server() -> Server {
    Server::new("story", "1.0.0")
        .tool(tool("add").handler(|Args(add): Args<Add>| async move { add.a + add.b }))
        .tool(tool("greet").handler(|ctx: Context| async move {
            let name: Name = ctx.elicit("who", "Your name?").await?;
            Ok::<_, Error>(format!("Hello, {}", name.name))
        }))
        .tool(tool("count").handler(|ctx: Context| async move {
            for step in 1..=3 {
                ctx.progress(f64::from(step), Some(3.0));
            }
            ctx.logger("count").log(LoggingLevel::Warning, "done");
            "counted"
        }))
        .tool(tool("hang_up").handler(|ctx: Context| async move {
            ctx.hang_up(Duration::from_millis(100));
            "after all"
        }))
        .tool(tool("change").handler(|ctx: Context| async move {
            ctx.registry().resource_updated("story://readme");
            ctx.registry().remove_tool("add");
            "changed"
        }))
        .resource(resource("story://readme").name("readme").mime_type("text/plain").text("read me"))
}

fn client(revision: Revision) -> contexture::client::Builder {
    Client::builder()
        .revisions(&[revision])
        .elicitation(Elicitation::new(|_| async { ElicitAnswer::accept([("name", "Ada")]) }))
}

/// A server at work, and its URLs: the endpoint and the stream of HTTP+SSE.
async fn serve(server: Server) -> (HttpServer, String, String) {
    let server = server.into_http().expect("a server");
    let bound = server.clone().bind("127.0.0.1:0").await.expect("a port");
    let (url, address) = (bound.url(), bound.address());
    tokio::spawn(bound.serve_until(std::future::pending()));
    (server, url, format!("http://{address}/sse"))
}

async fn until(events: &mut Events, mut wanted: impl FnMut(&Event) -> bool) {
    let heard = async { while !wanted(&events.next().await.expect("an event")) {} };
    tokio::time::timeout(Duration::from_secs(20), heard).await.expect("told in time");
}

async fn tell(client: &Client) {
    let rules = client.revision().rules();
    let mut events = client.events();
    assert_eq!(client.tools().await.expect("a list").len(), 6);
    let sum = client.call("add", json!({ "a": 1, "b": 2 })).await.expect("a reply");
    assert_eq!(sum.text(), "3");
    if rules.has_elicitation() {
        assert_eq!(client.call("greet", ()).await.expect("a reply").text(), "Hello, Ada");
    }
    client.set_log_level(LoggingLevel::Info).await.expect("a level");
    let (heard, mut progress) = tokio::sync::mpsc::unbounded_channel();
    let counting = client.call("count", ()).on_progress(move |it| heard.send(it.progress).expect("heard"));
    counting.await.expect("a reply");
    let mut steps = Vec::new();
    while let Ok(step) = progress.try_recv() {
        steps.push(step);
    }
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    until(&mut events, |event| matches!(event, Event::Log(message) if message.data == "done")).await;
    assert_eq!(client.call("hang_up", ()).await.expect("a reply").text(), "after all");
    client.watch_lists().await.expect("watched");
    client.subscribe("story://readme").await.expect("subscribed");
    client.call("change", ()).await.expect("a reply");
    let (mut updated, mut changed) = (false, false);
    until(&mut events, |event| {
        updated |= matches!(event, Event::ResourceUpdated(uri) if uri == "story://readme");
        changed |= matches!(event, Event::ToolsChanged);
        updated && changed
    })
    .await;
    assert_eq!(client.tools().await.expect("a list").len(), 5);
    assert!(client.read("story://nothing").await.is_err());
}

/// The server has let go of everything.
async fn is_quiet(server: &HttpServer) {
    let quiet = async {
        while server.sessions() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), quiet).await.expect("no session is left");
}

// covers: LIFE-SHUTDOWN-HTTP
#[tokio::test]
async fn the_whole_story_over_http() {
    for revision in Revision::ALL {
        let (begun, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (server, url, _) = serve(server().tool(patient(&begun, &cancelled))).await;
        let client = client(revision).connect(&url).await.expect("connected");
        assert_eq!(client.revision(), revision);
        assert_eq!(server.sessions(), usize::from(revision.is_legacy()));
        tell(&client).await;
        let waiting = client.call("wait", ()).start();
        begun.notified().await;
        drop(waiting);
        cancelled.notified().await;
        client.close().await;
        is_quiet(&server).await;
    }
}

#[tokio::test]
async fn the_whole_story_over_http_and_sse() {
    for revision in Revision::LEGACY {
        let (begun, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (server, _, url) = serve(server().tool(patient(&begun, &cancelled))).await;
        let client = client(revision).connect(&url).await.expect("connected");
        assert_eq!(client.revision(), revision);
        tell(&client).await;
        let waiting = client.call("wait", ()).start();
        begun.notified().await;
        drop(waiting);
        cancelled.notified().await;
        client.close().await;
        is_quiet(&server).await;
    }
}

/// Without being told anything, a client finds the newest that there is.
#[tokio::test]
async fn the_newest_revision_is_found() {
    let (_, url, pair) = serve(server()).await;
    assert_eq!(Some(&Client::connect(url).await.expect("connected").revision()), Revision::ALL.last());
    let (_, url, _) = serve(server().revisions(&Revision::LEGACY)).await;
    assert_eq!(Some(&Client::connect(url).await.expect("connected").revision()), Revision::LEGACY.last());
    assert_eq!(Some(&Client::connect(pair).await.expect("connected").revision()), Revision::LEGACY.last());
}

/// Many calls at once, on one client.
#[tokio::test]
async fn many_calls_at_once() {
    for revision in Revision::ALL {
        let (_, url, _) = serve(server()).await;
        let client = client(revision).connect(&url).await.expect("connected");
        let calls: Vec<_> =
            (0..100).map(|a| (a, client.call("add", json!({ "a": a, "b": 1 })).start())).collect();
        for (a, call) in calls {
            assert_eq!(call.await.expect("a reply").text(), (a + 1).to_string());
        }
        client.close().await;
    }
}
