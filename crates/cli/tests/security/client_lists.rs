//! Our client against servers whose lists, resources and schemas are traps.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use contexture::client::Approval;
use contexture::{Error, Policy};
use serde_json::json;

use crate::hostile::{client, server, setup, within};

#[tokio::test]
async fn lists_without_end() {
    for vice in ["cursor same", "cursor pair", "cursor new"] {
        for era in ["legacy", "modern"] {
            let mut policy = Policy::default();
            policy.list_pages = 20;
            let role = format!("{era} {vice}");
            let client = within(setup().policy(policy).spawn(server(&role))).await.expect("connects");
            let Err(partial) = within(client.tools()).await else { panic!("I01 {role}: the list ended") };
            assert!(!partial.items.is_empty() && partial.items.len() <= 20, "I01 {role}");
            assert!(matches!(partial.reason, Error::TooMuch(_)), "I01 {role}: {:?}", partial.reason);
            client.close().await;
        }
    }
}

#[tokio::test]
async fn cursors_without_characters() {
    let client = client("legacy cursor empty").await;
    let tools = within(client.tools()).await.expect("a list");
    assert_eq!(tools.len(), 2, "I02: the empty cursor is a cursor");
}

#[tokio::test]
async fn cursors_of_another_type() {
    let client = client("legacy cursor number").await;
    let end = within(client.tools()).await;
    assert!(end.as_ref().map_or(true, |tools| tools.len() == 1), "I01: {end:?}");
}

#[tokio::test]
async fn items_that_are_none() {
    for era in ["legacy", "modern"] {
        let dropping = client(&format!("{era} items")).await;
        let tools = within(dropping.tools()).await.expect("the good ones");
        assert!(!tools.is_empty() && tools.iter().all(|tool| tool.name == "fine"), "I04 {era}: {tools:?}");

        let nothing = client(&format!("{era} items null")).await;
        let end = within(nothing.tools()).await;
        assert!(end.is_err(), "I04 {era}: {end:?}");

        let many = client(&format!("{era} items many")).await;
        assert_eq!(within(many.tools()).await.expect("many").len(), 10_000, "I04 {era}");

        let long = client(&format!("{era} items long")).await;
        assert_eq!(within(long.tools()).await.expect("long").len(), 1, "I04 {era}");
    }
}

#[tokio::test]
async fn lists_with_more_items_than_allowed() {
    let mut policy = Policy::default();
    policy.list_items = 100;
    let client = within(setup().policy(policy).spawn(server("legacy items many"))).await.expect("connects");
    let Err(partial) = within(client.tools()).await else { panic!("I04: no bound") };
    assert!(partial.items.len() <= 100, "I04: {}", partial.items.len());
}

#[tokio::test]
async fn contents_that_are_damaged() {
    for era in ["legacy", "modern"] {
        let client = client(era).await;
        for uri in ["bad://base64", "bad://null", "bad://both"] {
            let end = within(client.read(uri)).await;
            assert!(!matches!(end, Err(Error::Timeout(_) | Error::Closed(_))), "I10 {era} {uri}: {end:?}");
            if uri == "bad://null" {
                assert!(end.is_err(), "I10 {era}: {end:?}");
            }
        }
        assert!(within(client.read("fine://x")).await.is_ok(), "I10 {era}");
    }
}

/// Schemas are bounded, never fetched, and spoil only their own tool.
#[tokio::test]
async fn schemas_with_traps() {
    let trap = TcpListener::bind("127.0.0.1:0").expect("a port");
    trap.set_nonblocking(true).expect("it can be asked");
    let port = trap.local_addr().expect("an address").port().to_string();
    for era in ["legacy", "modern"] {
        let command = server(&format!("{era} schemas")).env("TRAP_PORT", &port);
        let client = within(setup().spawn(command)).await.expect("connects");
        within(client.tools()).await.expect("a list");
        for tool in [
            "remote",
            "remote_inside",
            "local_file",
            "recursive",
            "mutual",
            "pattern",
            "nested",
            "wide",
            "ladder",
            "tree",
            "bush",
            "rows",
            "dangling",
            "wrong",
        ] {
            let end = within(client.call(tool, ())).await;
            assert!(!matches!(end, Err(Error::Timeout(_) | Error::Closed(_))), "I11 {era} {tool}: {end:?}");
            if ["remote", "remote_inside", "local_file", "wide", "ladder", "dangling", "wrong"]
                .contains(&tool)
            {
                let checked = end.is_ok_and(|reply| reply.is_checked());
                assert!(!checked, "I11 {era} {tool}: checked against a schema that cannot be known");
            }
        }
        let end = within(client.call("structured", ())).await;
        assert!(matches!(end, Err(Error::Invalid(_))), "I12 {era}: {end:?}");
        assert_eq!(within(client.call("fine", ())).await.expect("fine").text(), "fine", "I11 {era}");
        client.close().await;
    }
    assert!(trap.accept().is_err(), "I11: somebody fetched a schema");
}

/// What a server says about its own tools decides nothing.
#[tokio::test]
async fn hints_of_strangers() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let builder = setup().approve_tools(move |call| {
        sink.lock().expect("not poisoned").push((call.sensitive, call.annotations.is_some()));
        std::future::ready(Approval::Allow)
    });
    let client = within(builder.spawn(server("legacy hints"))).await.expect("connects");
    within(client.tools()).await.expect("a list");
    within(client.call("fine", ())).await.expect("fine");
    assert_eq!(*seen.lock().expect("not poisoned"), [(true, false)], "I16");
}

#[tokio::test]
async fn times_to_live_that_make_no_sense() {
    for vice in ["ttl negative", "ttl huge", ""] {
        let role = format!("modern {vice}");
        let client = client(role.trim()).await;
        for _ in 0..3 {
            assert_eq!(within(client.tools()).await.expect("a list").len(), 1, "I21 {vice}");
        }
        assert_eq!(within(client.call("fine", json!({}))).await.expect("fine").text(), "fine", "I21 {vice}");
    }
}
