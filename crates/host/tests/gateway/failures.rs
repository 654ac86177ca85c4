//! Servers that die, hang, or never were there. The others never notice.

use std::time::Duration;

use contexture::client::Event;
use contexture::revision::Era;
use contexture_host::config::{Origin, ServerEntry, TransportSpec};
use contexture_host::upstream::State;
use serde_json::json;

use super::rich;
use super::support::{ERAS, Gate, Site, Wire, able, at, child, config, refused, until};

fn missing(name: &str) -> ServerEntry {
    let transport = TransportSpec::Stdio {
        command: "/nonexistent/server".into(),
        args: Vec::new(),
        env: Default::default(),
        cwd: None,
    };
    ServerEntry::new(name, transport, Origin::command_line())
}

#[tokio::test]
async fn a_server_that_cannot_be_started_hides_nobody() {
    let gate = Gate::start(config(vec![missing("gone"), child("up", Era::Legacy)])).await;
    for era in ERAS {
        let client = gate.client(era, Wire::Http).await;
        let tools = client.tools().await.expect("tools");
        assert!(!tools.is_empty() && tools.iter().all(|tool| tool.name.starts_with("up__")));
        let error = refused(client.call("gone__anything", ()).await);
        assert!(error.message.contains("gone") && error.message.contains("/nonexistent/server"), "{error}");
        let data = error.data.expect("data");
        assert_eq!((&data["server"], &data["state"]), (&json!("gone"), &json!("failed")));
        let reply = client.call("up__echo", json!({ "text": "here" })).await.expect("an answer");
        assert_eq!(reply.text(), "here");
    }
    let health = gate.host.health();
    assert_eq!((health[0].state, health[1].state), (State::Failed, State::Ready));
    assert!(health[0].last_error.as_deref().is_some_and(|error| error.contains("/nonexistent/server")));
    gate.host.stop().await;
}

/// To clients we are that server, and it is not empty.
#[tokio::test]
async fn a_single_server_that_is_not_there_is_not_taken_for_an_empty_one() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let mut entry = at("up", &format!("http://{address}/mcp"));
    entry.prefix = false;
    let gate = Gate::start(config(vec![entry])).await;
    let mut clients = Vec::new();
    for era in ERAS {
        let client = gate.client(era, Wire::Http).await;
        let refusals = [
            refused(client.tools().await.map_err(|partial| partial.reason)),
            refused(client.prompts().await.map_err(|partial| partial.reason)),
            refused(client.resources().await.map_err(|partial| partial.reason)),
            refused(client.resource_templates().await.map_err(|partial| partial.reason)),
            refused(client.call("echo", json!({ "text": "" })).await),
        ];
        for error in refusals {
            assert!(error.message.contains("\"up\" is not available"), "{era:?}: {error}");
            assert_eq!(error.data.expect("data")["server"], "up", "{era:?}");
        }
        clients.push(client);
    }
    let http = rich::server(Era::Modern).into_http().expect("a server");
    let bound = http.bind(&address).await.expect("the same port");
    tokio::spawn(bound.serve());
    for client in clients {
        until("it is there", || async {
            client.tools().await.ok()?.iter().any(|tool| tool.name == "echo").then_some(())
        })
        .await;
    }
    gate.host.stop().await;
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again() {
    for server in ERAS {
        let gate = Gate::start(config(vec![child("up", server)])).await;
        for era in ERAS {
            let client = gate.client(era, Wire::Pipe).await;
            let before = client.call("up__pid", ()).await.expect("an answer").text();
            let error = refused(client.call("up__die", ()).await);
            assert!(error.message.contains("may have done") && error.message.contains('7'), "{error}");
            assert!(error.message.contains("boom: this is the end"), "its last words: {error}");
            let after = client.call("up__pid", ()).await.expect("it is there again").text();
            assert_ne!(before, after, "{server:?} {era:?}");
        }
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_is_silent_does_not_hold_up_its_caller() {
    for server in ERAS {
        let mut entry = child("up", server);
        entry.call_time = Duration::from_millis(300);
        let gate = Gate::start(config(vec![entry])).await;
        for era in ERAS {
            let client = gate.client(era, Wire::Http).await;
            let error = refused(client.call("up__hang", ()).await);
            assert_eq!(error.data.expect("data")["state"], "timed-out", "{server:?} {era:?}");
            assert!(client.call("up__echo", json!({ "text": "" })).await.is_ok());
        }
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn an_address_where_nobody_is_any_more_vanishes_and_comes_back() {
    for era in ERAS {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let serve = || async {
            let http = rich::server(Era::Modern).into_http().expect("a server");
            let bound = http.bind(&address).await.expect("the same port");
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let serving = tokio::spawn(bound.serve_until(async { drop(stopped.await) }));
            (stop, serving)
        };
        let (stop, serving) = serve().await;
        let steady = Site::of(rich::server(Era::Legacy)).await;
        let gate =
            Gate::start(config(vec![at("up", &format!("http://{address}/mcp")), at("steady", &steady.url)]))
                .await;
        let client = gate.connect(able().watch_lists(), era, Wire::Http).await;
        assert!(client.tools().await.expect("tools").iter().any(|tool| tool.name == "up__echo"));
        let mut events = client.events();
        drop(stop);
        serving.await.expect("an end").expect("a good one");
        until("its tools are gone", || async {
            let tools = client.tools().await.ok()?;
            assert!(tools.iter().any(|tool| tool.name == "steady__echo"), "the other stays");
            tools.iter().all(|tool| !tool.name.starts_with("up__")).then_some(())
        })
        .await;
        while !matches!(events.next().await, Some(Event::ToolsChanged)) {}
        let error = refused(client.call("up__echo", json!({ "text": "" })).await);
        assert_eq!(error.data.expect("data")["server"], "up");
        let (_stop, _serving) = serve().await;
        until("its tools are back", || async {
            client.tools().await.ok()?.iter().any(|tool| tool.name == "up__echo").then_some(())
        })
        .await;
        assert!(client.call("up__echo", json!({ "text": "" })).await.is_ok());
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn what_nobody_needs_is_stopped_and_started_again() {
    for server in ERAS {
        let mut entry = child("up", server);
        entry.idle_time = Duration::from_millis(200);
        let gate = Gate::start(config(vec![entry])).await;
        let client = gate.client(Era::Legacy, Wire::Pipe).await;
        let before = client.call("up__pid", ()).await.expect("an answer").text();
        until("it is stopped", || async { (gate.host.health()[0].connections == 0).then_some(()) }).await;
        assert_eq!(gate.host.health()[0].state, State::Idle);
        assert!(
            client.tools().await.expect("tools").iter().any(|tool| tool.name == "up__pid"),
            "it is still offered"
        );
        let after = client.call("up__pid", ()).await.expect("an answer").text();
        assert_ne!(before, after);
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn a_circuit_opens_for_a_server_that_fails_again_and_again() {
    let gate = Gate::start(config(vec![missing("gone")])).await;
    let client = gate.client(Era::Legacy, Wire::Http).await;
    let _ = client.tools().await;
    // Each call is an attempt until it opens; the list was one, too.
    until("the circuit opens", || async {
        let error = refused(client.call("gone__x", ()).await);
        let data = error.data.expect("data");
        let open = data["state"] == "circuit-open";
        if open {
            assert!(data["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0));
        }
        open.then_some(())
    })
    .await;
    gate.host.stop().await;
}

#[tokio::test]
async fn nothing_is_left_when_it_stops() {
    let gate = Gate::start(config(vec![child("up", Era::Legacy), child("other", Era::Modern)])).await;
    let client = gate.client(Era::Legacy, Wire::Pipe).await;
    let mut pids = Vec::new();
    for tool in ["up__pid", "other__pid"] {
        pids.push(client.call(tool, ()).await.expect("an answer").text());
    }
    let hanging = client.call("up__hang", ()).start();
    let drained = tokio::time::timeout(Duration::from_secs(25), gate.host.stop()).await;
    assert!(drained.is_ok(), "a call that hangs has only so long");
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
    assert!(hanging.await.is_err());
    let error = refused(client.call("up__echo", json!({ "text": "" })).await);
    assert!(error.message.contains("ending"), "{error}");
}
