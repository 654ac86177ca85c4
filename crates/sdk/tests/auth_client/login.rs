//! There and back again: rows F07, F08, F09, F21.

use contexture::AuthorizationStep::{Login, Token};
use serde_json::json;

use super::support::{Person, failure, policy, step};
use super::world::World;

/// Nothing came of it: no code was redeemed, no request carried a token.
fn nothing_used(world: &World) {
    assert!(world.at("/token").is_empty(), "the code went nowhere");
    assert!(world.at_server().iter().all(|seen| !seen.headers.contains_key("authorization")));
}

/// F07, also for errors.
// covers: AUTH-STATE-USE, AUTH-STATE-DISCARD
#[tokio::test]
async fn what_comes_back_must_belong_to_the_login() {
    for error in [None, Some("access_denied<script>")] {
        for state in [None, Some(""), Some("guessed")] {
            let world = World::start().await;
            world.change(|script| {
                script.back.push(("state", state.map(str::to_owned)));
                if let Some(error) = error {
                    script.back.extend([("code", None), ("error", Some(error.to_owned()))]);
                }
            });
            let failure = world.fails().await;
            assert_eq!(failure.step, Login, "{state:?} {error:?}");
            assert!(!failure.message.contains("script"), "{failure}");
            nothing_used(&world);
        }
    }
}

/// F07: the state of an earlier login is as wrong as any.
#[tokio::test]
async fn a_state_is_good_once() {
    let world = World::start().await;
    let person = Person::default();
    world.use_with(policy(&person)).await.expect("logged in");
    *person.instead.lock().expect("a lock") = person.last.lock().expect("a lock").clone();
    let before = world.at("/token").len();
    assert_eq!(step(world.use_with(policy(&person)).await.err()), Login);
    assert_eq!(world.at("/token").len(), before);
    let states: Vec<_> = world.at("/authorize").into_iter().map(|seen| seen.query["state"].clone()).collect();
    assert_ne!(states[0], states[1]);
    assert!(states[0].len() >= 43, "256 bits");
}

/// F08: the four rows of the table, and what only looks the same.
#[tokio::test]
async fn the_issuer_of_an_answer_is_compared_exactly() {
    for advertised in [true, false] {
        for (iss, passes) in [
            (Some("{issuer}"), true),
            (None, !advertised),
            (Some("{issuer}/"), false),
            (Some("{upper}"), false),
            (Some("https://evil.example.com"), false),
            (Some("{issuer}%2F"), false),
            (Some(""), false),
        ] {
            let world = World::start().await;
            let upper = world.issuer.replace("http", "HTTP");
            let iss = iss.map(|iss| iss.replace("{issuer}", &world.issuer).replace("{upper}", &upper));
            world.metadata(|document| {
                document.insert("authorization_response_iss_parameter_supported".into(), json!(advertised));
            });
            world.change(|script| script.back.push(("iss", iss.clone())));
            if passes {
                world.use_with(policy(&Person::default())).await.expect("logged in");
            } else {
                assert_eq!(world.fails().await.step, Login, "{advertised} {iss:?}");
                nothing_used(&world);
            }
        }
    }
}

/// F08: what a stranger says is not repeated; what the authorization server says is, made harmless.
#[tokio::test]
async fn only_the_authorization_servers_own_words_are_shown() {
    for (iss, shown) in [(None, true), (Some("https://evil.example.com"), false)] {
        let world = World::start().await;
        world.change(|script| {
            if let Some(iss) = iss {
                script.back.push(("iss", Some(iss.to_owned())));
            }
            script.back.extend([
                ("code", None),
                ("error", Some("access_denied".to_owned())),
                ("error_description", Some("Call\u{1b}[2J 555-1234\n".to_owned())),
            ]);
        });
        let failure = world.fails().await;
        assert_eq!(failure.step, Login);
        assert_eq!(failure.message.contains("555-1234"), shown, "{failure}");
        assert!(!failure.message.contains(['\u{1b}', '\n']), "{failure}");
        nothing_used(&world);
    }
}

/// F09: a code that belongs to one login is of no use to another.
#[tokio::test]
async fn two_logins_at_once_are_not_mixed_up() {
    let (honest, other) = (World::start().await, World::start().await);
    let person = Person::default();
    honest.use_with(policy(&person)).await.expect("logged in");
    let theirs = person.last.lock().expect("a lock").clone();
    let codes = honest.at("/token").len();
    *person.instead.lock().expect("a lock") = theirs;
    assert_eq!(step(other.use_with(policy(&person)).await.err()), Login);
    assert!(other.at("/token").is_empty(), "neither code nor verifier was sent");
    assert_eq!(honest.at("/token").len(), codes);
}

/// F21.
#[tokio::test]
async fn what_is_no_token_is_not_used() {
    for bad in [
        json!({ "token_type": "Bearer" }),
        json!({ "access_token": "", "token_type": "Bearer" }),
        json!({ "access_token": "a", "token_type": "mac" }),
        json!({ "access_token": "a", "token_type": "N_A" }),
        json!({ "access_token": "a" }),
        json!({ "access_token": "a\r\nx: y", "token_type": "Bearer" }),
        json!({ "access_token": "a".repeat(20_000), "token_type": "Bearer" }),
        json!("a"),
    ] {
        let world = World::start().await;
        world.change(|script| script.answers.push_back((200, bad.clone())));
        assert_eq!(world.fails().await.step, Token, "{bad}");
        assert!(world.at_server().iter().all(|seen| !seen.headers.contains_key("authorization")));
    }
    for odd in [json!(-1), json!("soon"), json!("3600"), json!(1_000_000_000_000_000_000_u64), json!(null)] {
        let world = World::start().await;
        world.change(|script| drop(script.granted.insert("expires_in".into(), odd.clone())));
        world.use_with(policy(&Person::default())).await.unwrap_or_else(|error| panic!("{odd}: {error}"));
    }
}

/// F11: what was meant for the token endpoint goes nowhere else.
#[tokio::test]
async fn a_token_endpoint_that_redirects_gets_no_second_request() {
    for status in [301, 302, 303, 307, 308] {
        let world = World::start().await;
        let elsewhere = world.another_issuer().await;
        world.change(|script| {
            script.answers.push_back((status, json!({})));
            script.location = Some(format!("{elsewhere}/token"));
        });
        assert_eq!(world.fails().await.step, Token, "{status}");
        assert!(world.seen().iter().all(|seen| seen.origin != elsewhere), "{status}");
    }
}

// covers: AUTH-PKCE, AUTH-BEARER-HEADER, AUTH-EVERY-REQUEST, AUTH-NO-QUERY-TOKEN, AUTH-TOKEN-RULES, AUTH-CLIENT-401-HANDLE, AUTH-HTTP-CONFORM
#[tokio::test]
async fn a_login_from_the_first_401_to_the_last_request() {
    let world = World::start().await;
    let person = Person::default();
    let client = world.use_with(policy(&person)).await.expect("logged in");
    client.close().await;
    let authorize = &world.at("/authorize")[0].query;
    assert_eq!(
        (authorize["response_type"].as_str(), authorize["code_challenge_method"].as_str()),
        ("code", "S256")
    );
    let token = &world.at("/token")[0].form;
    assert_eq!(token["redirect_uri"], authorize["redirect_uri"]);
    assert_eq!(token["client_id"], authorize["client_id"]);
    assert!(token["code_verifier"].len() >= 43);
    let requests = world.at_server();
    assert!(!requests[0].headers.contains_key("authorization"), "the first is refused");
    assert!(requests.len() > 2);
    for request in &requests[1..] {
        assert!(request.headers["authorization"].starts_with("Bearer token-"), "{request:?}");
        assert!(!request.query.values().any(|value| value.contains("token-")));
    }
    assert_eq!(person.visits(), 1);
}

/// An address may hold a key; what people read does not.
#[tokio::test]
async fn the_query_of_an_address_is_not_shown() {
    let world = World::start().await;
    let stored = contexture::auth::Authorization::stored().store(contexture::auth::MemoryStore::new());
    let refused = |policy| {
        let url = format!("{}?key=hunter2", world.url());
        async move { failure(contexture::Client::builder().authorization(policy).connect(url).await.err()) }
    };
    assert!(!refused(stored).await.to_string().contains("hunter2"));
    world.resource(|document| drop(document.insert("resource".into(), json!("https://evil.example"))));
    assert!(!refused(policy(&Person::default())).await.to_string().contains("hunter2"));
}

/// Nothing secret is in what people see.
// covers: AUTH-TOKEN-STORAGE
#[tokio::test]
async fn secrets_are_not_shown() {
    let world = World::start().await;
    let policy = policy(&Person::default()).client_id("c").client_secret("hunter2");
    assert!(!format!("{policy:?}").contains("hunter2"));
    world.metadata(|document| {
        document.insert("token_endpoint_auth_methods_supported".into(), json!(["client_secret_post"]));
    });
    let said = json!({ "error": "invalid_request", "error_description": "no" });
    world.change(|script| script.answers.push_back((400, said)));
    let failure = failure(world.use_with(policy).await.err());
    assert!(failure.to_string().contains("invalid_request (no)"), "{failure}");
    assert!(!failure.to_string().contains("hunter2") && !failure.to_string().contains("code-"), "{failure}");
}
