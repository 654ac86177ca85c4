//! Servers that send their clients elsewhere (rows B31 and B32 of the security bar).

use contexture::{Client, Error};

use crate::support::{Fixture, MODERN, pair, said};

/// Not a byte reaches another origin.
#[tokio::test]
async fn another_origin_is_never_followed() {
    for revision in ["2025-06-18", MODERN] {
        let elsewhere = Fixture::start().await;
        let (client, mut fixture) =
            pair(Client::builder().header("authorization", "Bearer x"), revision).await;
        let targets = [
            elsewhere.url(),
            elsewhere.url().replace("127.0.0.1", "localhost"),
            elsewhere.url().replace("http://", "//"),
            "file:///etc/passwd".into(),
            "unix:/tmp/x".into(),
            "ws://127.0.0.1/".into(),
            "javascript:alert(1)".into(),
        ];
        for status in [301, 302, 303, 307, 308] {
            for target in &targets {
                let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
                    fixture.post("tools/call").await.answer(status, &[("location", target)], "").await;
                });
                let Err(Error::Redirected(to)) = reply else { panic!("{status} {target}: {reply:?}") };
                if target == &elsewhere.url() {
                    assert_eq!(to, elsewhere.url(), "it can be looked at, and connected to");
                }
            }
        }
        assert!(elsewhere.requests().is_empty());
    }
}

#[tokio::test]
async fn the_same_origin_is_followed_a_few_times() {
    for status in [307, 308] {
        let (client, mut fixture) = pair(Client::builder(), MODERN).await;
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            fixture.post("tools/call").await.answer(status, &[("location", "/moved")], "").await;
            let seen = fixture.post("tools/call").await;
            assert_eq!((seen.request.path.as_str(), seen.request.header("mcp-name")), ("/moved", Some("t")));
            seen.result(said("found")).await;
        });
        assert_eq!(reply.expect("a reply").text(), "found");
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            for _ in 0..4 {
                fixture.post("tools/call").await.answer(status, &[("location", "/mcp")], "").await;
            }
        });
        assert!(matches!(reply, Err(Error::PeerMisbehaved(_))), "{reply:?}");
    }
    // These would make something else of a POST.
    for status in [301, 302, 303] {
        let (client, mut fixture) = pair(Client::builder(), MODERN).await;
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            fixture.post("tools/call").await.answer(status, &[("location", "/moved")], "").await;
        });
        assert!(matches!(reply, Err(Error::Redirected(_))), "{reply:?}");
    }
}

#[tokio::test]
async fn a_server_that_only_redirects_is_not_connected_to() {
    let elsewhere = Fixture::start().await;
    let mut fixture = Fixture::start().await;
    let url = fixture.url();
    let (client, ()) = tokio::join!(Client::connect(url), async {
        let seen = fixture.post("server/discover").await;
        seen.answer(308, &[("location", &elsewhere.url())], "").await;
    });
    assert!(matches!(client, Err(Error::Redirected(to)) if to == elsewhere.url()));
    assert!(elsewhere.requests().is_empty());
    assert_eq!(fixture.requests().len(), 1, "no evidence of an older server");
}
