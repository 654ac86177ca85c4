//! What belongs to somebody else.

use std::collections::HashSet;

use futures_util::future::join_all;
use serde_json::json;

use crate::raw::{Ask, Line, session};
use crate::support::{Minter, Place, text};

/// The TypeScript SDK: clients with equal ids got each other's answers.
#[tokio::test]
async fn cve_2026_25536_everybody_gets_their_own_answer() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let calls = (0..40).map(|number| {
        let name = format!("person-{number}");
        let token = minter.token(&place, &name, "");
        let place = &place;
        async move {
            let got = place.who(&token).await;
            assert_eq!(text(&got), name, "{got:?}");
        }
    });
    join_all(calls).await;
}

/// GitHub's server: what was made for one person's token was used for the next.
#[tokio::test]
async fn cve_2026_48529_one_connection_with_several_persons() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let tokens = ["ada", "bob"].map(|name| minter.token(&place, name, ""));
    let mut line = Line::open(&place.served).await;
    for (before, turn) in [0, 1, 1, 0, 1, 0].into_iter().enumerate() {
        line.write(&Ask::modern(1, "who", json!({})).by(&tokens[turn]).bytes(place.served.port)).await;
        let name = ["ada", "bob"][turn];
        // Each answer has the name once as text, and the connection is kept.
        let whole = line.until(|text| text.matches("\"text\":\"").count() == before + 1).await;
        let last = whole.rsplit("\"text\":\"").next().unwrap_or_default();
        assert!(last.starts_with(name), "{turn}: {last}");
    }
}

/// The Python SDK: who knew the id of a session could speak in it, listen to it and end it.
#[tokio::test]
async fn cve_2026_52869_a_session_is_its_owners() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let (ada, bob) = (minter.token(&place, "ada", ""), minter.token(&place, "bob", ""));
    let id = session(&place.served, |ask| ask.by(&ada)).await.expect("a session");
    let said = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    for request in [Ask::post("/mcp", &said), Ask::get("/mcp"), Ask::new("DELETE", "/mcp")] {
        let got = place.ask(&request.session(&id).by(&bob)).await;
        assert_eq!(got.status, 404, "{got:?}");
    }
    let got = place.ask(&Ask::legacy(1, "who", json!({})).session(&id).by(&ada)).await;
    assert_eq!(text(&got), "ada", "{got:?}");
}

/// The Ruby SDK: who knew the id of a session could call tools in it.
#[tokio::test]
async fn cve_2026_67431_tools_in_a_session_of_somebody_else() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let (ada, bob) = (minter.token(&place, "ada", ""), minter.token(&place, "bob", "write admin"));
    let id = session(&place.served, |ask| ask.by(&ada)).await.expect("a session");
    for tool in ["who", "write"] {
        let got = place.ask(&Ask::legacy(1, tool, json!({})).session(&id).by(&bob)).await;
        assert_eq!(got.status, 404, "{tool}: {got:?}");
    }
    assert_eq!(place.runs(), 0);
}

/// Repliers: a session was good for whoever came. The same name at another issuer is somebody else.
#[tokio::test]
async fn ghsa_f6c5_f2ph_7x7p_the_same_name_elsewhere() {
    let (first, second) = (Minter::start().await, Minter::start().await);
    let protection = contexture::auth::Protection::new(first.server.origin.as_str());
    let place = Place::protected(protection.issuer(second.server.origin.as_str())).await;
    let (ours, theirs) = (first.token(&place, "ada", ""), second.token(&place, "ada", ""));
    let id = session(&place.served, |ask| ask.by(&ours)).await.expect("a session");
    let got = place.ask(&Ask::legacy(1, "who", json!({})).session(&id).by(&theirs)).await;
    assert_eq!(got.status, 404, "{got:?}");
    let got = place.ask(&Ask::legacy(1, "who", json!({})).session(&id).by(&ours)).await;
    assert_eq!(text(&got), "ada", "{got:?}");
}

/// byterover-cli #329: who named no session got the only one there was.
#[tokio::test]
async fn byterover_329_no_id_is_no_session() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let ada = minter.token(&place, "ada", "");
    session(&place.served, |ask| ask.by(&ada)).await.expect("a session");
    for request in [Ask::legacy(1, "who", json!({})), Ask::get("/mcp"), Ask::new("DELETE", "/mcp")] {
        let got = place.ask(&request.by(&ada)).await;
        assert!((400..500).contains(&got.status), "{got:?}");
    }
    assert_eq!((place.runs(), place.served.server.sessions()), (0, 1));
}

/// The Ruby SDK: a second stream with the same id took the place of the first.
#[tokio::test]
async fn cve_2026_33946_a_stream_is_its_owners() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let (ada, bob) = (minter.token(&place, "ada", ""), minter.token(&place, "bob", ""));
    let id = session(&place.served, |ask| ask.by(&ada)).await.expect("a session");
    let (mut line, got) = crate::raw::begin(&place.served, &Ask::get("/mcp").session(&id).by(&ada)).await;
    assert_eq!(got.status, 200, "{got:?}");
    for _ in 0..3 {
        assert_eq!(place.ask(&Ask::get("/mcp").session(&id).by(&bob)).await.status, 404);
    }
    let over = place.ask(&Ask::new("DELETE", "/mcp").session(&id).by(&ada)).await;
    assert!([200, 204].contains(&over.status), "{over:?}");
    line.stream_to_its_end().await;
}

/// oatpp-mcp: the id of a session was an address in memory, and came again.
#[tokio::test]
async fn cve_2025_6515_ids_are_not_guessed_and_do_not_come_again() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let ada = minter.token(&place, "ada", "");
    let mut ids = HashSet::new();
    for _ in 0..50 {
        let id = session(&place.served, |ask| ask.by(&ada)).await.expect("a session");
        assert!(id.len() >= 22, "128 bits: {id}");
        let over = place.ask(&Ask::new("DELETE", "/mcp").session(&id).by(&ada)).await;
        assert!([200, 204].contains(&over.status), "{over:?}");
        let gone = place.ask(&Ask::legacy(1, "who", json!({})).session(&id).by(&ada)).await;
        assert_eq!(gone.status, 404, "{gone:?}");
        assert!(ids.insert(id), "an id came again");
    }
}
