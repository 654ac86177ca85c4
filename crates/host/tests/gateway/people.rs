//! Two people whose calls never meet.

use contexture::revision::Era;
use futures_util::future::join_all;

use super::rich;
use super::support::{ERAS, Gate, Site, Wire, at, child, config, named};

// Catalogue J10, J12: nobody answers, sees or shares what is another's.
#[tokio::test]
async fn each_has_a_process_of_their_own() {
    for era in ERAS {
        let gate = Gate::known(config(vec![child("up", era)])).await;
        let mut pids = Vec::new();
        for name in ["ada", "bob"] {
            let one = gate.connect(named(name), Era::Legacy, Wire::Http).await;
            let two = gate.connect(named(name), Era::Legacy, Wire::Http).await;
            let pid = one.call("up__pid", ()).await.expect("an answer").text();
            assert_eq!(
                two.call("up__pid", ()).await.expect("an answer").text(),
                pid,
                "one person, one process"
            );
            pids.push(pid);
        }
        assert_ne!(pids[0], pids[1], "{era:?}");
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn questions_reach_the_one_whose_call_it_is() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let behind = Site::of(rich::server(server)).await;
        let gate = Gate::known(config(vec![at("up", &behind.url)])).await;
        let names = ["ada", "bob", "cleo", "dora"];
        let clients = join_all(names.map(|name| gate.connect(named(name), client, Wire::Http))).await;
        for _ in 0..2 {
            let asked = clients.iter().map(|client| client.call("up__ask", ()).into_future());
            for (name, reply) in names.iter().zip(join_all(asked).await) {
                assert_eq!(
                    reply.expect("an answer").text(),
                    format!("Hello, {name}"),
                    "{client:?} {server:?}"
                );
            }
        }
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn strangers_who_can_be_asked_do_not_share_a_connection() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let gate = Gate::start(config(vec![child("up", server)])).await;
        let names = ["ada", "bob", "cleo"];
        let clients = join_all(names.map(|name| gate.connect(named(name), client, Wire::Http))).await;
        let asked = clients.iter().map(|client| client.call("up__ask", ()).into_future());
        for (name, reply) in names.iter().zip(join_all(asked).await) {
            assert_eq!(reply.expect("an answer").text(), format!("Hello, {name}"), "{client:?} {server:?}");
        }
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn a_token_goes_no_further() {
    for server in ERAS {
        let behind = Site::of(rich::server(server)).await;
        let gate = Gate::known(config(vec![at("up", &behind.url)])).await;
        for era in ERAS {
            let client = gate.connect(named("secret-token"), era, Wire::Http).await;
            let headers = client.call("up__headers", ()).await.expect("an answer").text();
            assert!(headers.contains("content-type"), "these are headers: {headers}");
            let lower = headers.to_lowercase();
            assert!(!lower.contains("secret-token") && !lower.contains("authorization"), "{headers}");
        }
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn a_session_of_its_own_ends_with_its_connection() {
    let mut entry = child("up", Era::Legacy);
    entry.sharing = contexture_host::config::Sharing::Session;
    let gate = Gate::known(config(vec![entry])).await;
    let one = gate.connect(named("ada"), Era::Legacy, Wire::Http).await;
    let two = gate.connect(named("ada"), Era::Legacy, Wire::Http).await;
    let first = one.call("up__pid", ()).await.expect("an answer").text();
    assert_ne!(two.call("up__pid", ()).await.expect("an answer").text(), first);
    let before = gate.host.health()[0].connections;
    one.close().await;
    super::support::until("one connection less", || async {
        (gate.host.health()[0].connections < before).then_some(())
    })
    .await;
    gate.host.stop().await;
}

/// Whoever has no session has nothing in common with anybody, not even with themselves a moment ago.
#[tokio::test]
async fn a_call_without_a_session_has_a_process_of_its_own_where_each_session_has() {
    for server in ERAS {
        let mut entry = child("up", server);
        entry.sharing = contexture_host::config::Sharing::Session;
        let gate = Gate::known(config(vec![entry])).await;
        let client = gate.connect(named("ada"), Era::Modern, Wire::Http).await;
        let mut pids = std::collections::BTreeSet::new();
        for _ in 0..3 {
            let both = join_all(
                [client.call("up__pid", ()), client.call("up__pid", ())].map(|call| call.into_future()),
            );
            pids.extend(both.await.into_iter().map(|reply| reply.expect("an answer").text()));
        }
        assert_eq!(pids.len(), 6, "{server:?}: {pids:?}");
        let lists = 1;
        super::support::until("only that of the lists is left", || async {
            (gate.host.health()[0].connections <= lists).then_some(())
        })
        .await;
        // What is watched has one of its own, too, and keeps it.
        client.subscribe("up+test://doc").await.expect("watched");
        client.call("up__pid", ()).await.expect("an answer");
        super::support::until("that of the call is gone", || async {
            (gate.host.health()[0].connections == lists + 1).then_some(())
        })
        .await;
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn one_person_leaves_room_for_others() {
    let mut entry = child("up", Era::Legacy);
    entry.sharing = contexture_host::config::Sharing::Session;
    let mut config = config(vec![entry]);
    config.limits.connections = 4;
    let gate = Gate::known(config).await;
    let mut busy = Vec::new();
    for count in 1..=2 {
        let client = gate.connect(named("ada"), Era::Legacy, Wire::Http).await;
        busy.push(client.call("up__hang", ()).start());
        super::support::until("it is at work", || async {
            (gate.host.health()[0].in_flight == count).then_some(())
        })
        .await;
    }
    let third = gate.connect(named("ada"), Era::Legacy, Wire::Http).await;
    let refused = super::support::refused(third.call("up__pid", ()).await);
    assert_eq!(refused.data.expect("data")["state"], "busy", "{}", refused.message);
    let bob = gate.connect(named("bob"), Era::Legacy, Wire::Http).await;
    bob.call("up__pid", ()).await.expect("there is room for others");
    drop(busy);
    gate.host.stop().await;
}
