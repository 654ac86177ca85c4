//! Our client against servers whose messages are wrong, late, missing or for somebody else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::{ElicitAnswer, Elicitation};
use contexture::revision::Era;
use contexture::{Client, Error};
use serde_json::json;

use crate::hostile::{client, server, setup, within};

const ERAS: [&str; 2] = ["legacy", "modern"];
const SHORT: Duration = Duration::from_millis(300);

/// The client is as good as new: the row has left nothing behind.
async fn unharmed(client: &Client, row: &str) {
    let reply = within(client.call("fine", ())).await.unwrap_or_else(|error| panic!("{row}: {error}"));
    assert_eq!(reply.text(), "fine", "{row}");
    assert_eq!(client.waiting(), 0, "{row}: something still waits");
}

/// What the server has heard besides requests.
async fn heard(client: &Client) -> Vec<String> {
    let reply = within(client.call("heard", ())).await.expect("the server tells");
    serde_json::from_str(&reply.text()).expect("a list")
}

#[tokio::test]
async fn responses_that_are_none_fail_at_once() {
    for era in ERAS {
        let client = client(era).await;
        for (row, tool) in [
            ("A13", "both"),
            ("A13", "method_and_result"),
            ("A13", "neither"),
            ("A14", "no_version"),
            ("A40", "null"),
            ("A40", "array"),
            ("A39", "code_string"),
            ("A39", "code_float"),
            ("A39", "code_missing"),
            ("A39", "message_missing"),
            ("A39", "error_string"),
        ] {
            let end = within(client.call(tool, ())).await;
            let settled = matches!(end, Err(Error::PeerMisbehaved(_) | Error::Remote(_)));
            assert!(settled, "{row} {era} {tool}: {end:?}");
            unharmed(&client, row).await;
        }
        client.close().await;
    }
}

#[tokio::test]
async fn results_of_another_shape() {
    for era in ERAS {
        let client = client(era).await;
        for tool in ["empty", "base64", "kind"] {
            // A result that can be read in part may be shown; it must not be taken for more than it is.
            if let Ok(reply) = within(client.call(tool, ())).await {
                assert_eq!(reply.text(), "", "A40 {era} {tool}");
            }
            unharmed(&client, "A40").await;
        }
        let reply = within(client.call("no_type", ())).await;
        assert_eq!(reply.map(|reply| reply.text()).unwrap_or_default(), "typeless", "A40 {era}");
        client.close().await;
    }
    let client = client("modern").await;
    let end = within(client.call("odd_type", ())).await;
    assert!(matches!(end, Err(Error::PeerMisbehaved(_))), "A40: {end:?}");
    unharmed(&client, "A40").await;
}

#[tokio::test]
async fn errors_with_too_much_to_say() {
    for era in ERAS {
        let client = client(era).await;
        let Err(Error::Remote(error)) = within(client.call("data_huge", ())).await else {
            panic!("A39 {era}")
        };
        let kept = error.data.map_or(0, |data| data.to_string().len());
        assert!(kept < 1 << 20, "A39 {era}: {kept} bytes kept");
        unharmed(&client, "A39").await;
    }
}

#[tokio::test]
async fn lines_that_cannot_be_read() {
    for era in ERAS {
        let client = client(era).await;
        for (row, tool) in [("A09", "twice"), ("A18", "deep"), ("A26", "surrogate")] {
            let end = within(client.call(tool, ()).timeout(SHORT)).await;
            assert!(end.is_err(), "{row} {era}: {end:?}");
            unharmed(&client, row).await;
        }
        client.close().await;
    }
}

#[tokio::test]
async fn answers_to_others() {
    for era in ERAS {
        let client = client(era).await;
        let reply = within(client.call("strangers", ())).await.expect("the right answer");
        assert_eq!(reply.text(), "right", "A34 {era}");
        unharmed(&client, "A34").await;
        assert!(client.dropped().responses >= 3, "A34 {era}: {:?}", client.dropped());
        client.close().await;
    }
}

/// In the modern era a server asks nothing: nobody is shown anything and nothing is sent back.
#[tokio::test]
async fn requests_of_modern_servers() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let elicitation = Elicitation::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(ElicitAnswer::Decline)
    });
    let client = within(setup().elicitation(elicitation).spawn(server("modern"))).await.expect("connects");
    assert_eq!(within(client.call("asks", ())).await.expect("an answer").text(), "fine", "A38");
    unharmed(&client, "A38").await;
    assert_eq!(heard(&client).await, Vec::<String>::new(), "A38");
    assert_eq!(asked.load(Ordering::SeqCst), 0, "A38");
    assert_eq!(client.dropped().requests, 5, "A38");
}

#[tokio::test]
async fn servers_that_never_answer() {
    for era in ERAS {
        let client = client(era).await;
        let end = within(client.call("silence", ()).timeout(SHORT)).await;
        assert!(matches!(end, Err(Error::Timeout(_))), "G01 {era}: {end:?}");
        assert_eq!(client.waiting(), 0, "G01 {era}");
        let heard = heard(&client).await;
        let cancelled = heard.iter().filter(|line| line.contains("notifications/cancelled")).count();
        assert_eq!(cancelled, 1, "G01 {era}: {heard:?}");
        unharmed(&client, "G01").await;
        client.close().await;
    }
}

#[tokio::test]
async fn progress_without_end() {
    for era in ERAS {
        let client = client(era).await;
        let call = client
            .call("slow_progress", ())
            .timeout(SHORT)
            .max_time(Duration::from_secs(1))
            .on_progress(|_| {});
        let begun = std::time::Instant::now();
        let end = within(call).await;
        assert!(matches!(end, Err(Error::Timeout(_))), "G02 {era}: {end:?}");
        assert!(
            begun.elapsed() >= Duration::from_millis(900),
            "G02 {era}: progress did not renew the idle time"
        );
    }
}

#[tokio::test]
async fn progress_that_makes_no_sense() {
    for era in ERAS {
        let client = client(era).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let call = client.call("progress", ()).on_progress(move |progress| {
            sink.lock().expect("not poisoned").push(progress.progress);
        });
        assert_eq!(within(call).await.expect("an answer").text(), "done", "G07 {era}");
        unharmed(&client, "G07").await;
        let seen = seen.lock().expect("not poisoned");
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "G07 {era}: {:?}", &seen[..seen.len().min(9)]);
        assert!(seen.iter().all(|step| (1.0..10_000.0).contains(step)), "G07 {era}");
        assert!(
            seen.len() < 9_999 && client.dropped().notifications > 0,
            "G07 {era}: {:?}",
            client.dropped()
        );
    }
}

#[tokio::test]
async fn notifications_that_make_no_sense() {
    for era in ERAS {
        let client = client(era).await;
        for tool in ["cancels", "notifications"] {
            assert_eq!(
                within(client.call(tool, ())).await.expect("an answer").text(),
                "fine",
                "G03 {era} {tool}"
            );
            unharmed(&client, "G03").await;
        }
    }
}

/// Whoever is first, the caller sees one outcome and the next call is untouched by the other.
#[tokio::test]
async fn answers_and_cancellations_at_once() {
    for era in ERAS {
        let client = client(era).await;
        for round in 0..100_u64 {
            let call = client.call("fine", ()).start();
            if round % 2 == 0 {
                tokio::task::yield_now().await;
            }
            call.cancel("no more");
            match within(call).await {
                Ok(reply) => assert_eq!(reply.text(), "fine", "G04 {era}"),
                Err(error) => assert!(matches!(error, Error::Cancelled), "G04 {era}: {error}"),
            }
        }
        unharmed(&client, "G04").await;
    }
}

#[tokio::test]
async fn probes_that_find_a_legacy_server() {
    for vice in ["probe silence", "probe garbage", "probe -32602", "probe exit", "probe null", ""] {
        let role = format!("legacy {vice}");
        let begun = setup().probe_timeout(SHORT).spawn(server(role.trim()));
        let client = within(begun).await.unwrap_or_else(|error| panic!("G11 {vice}: {error}"));
        assert_eq!(client.era(), Era::Legacy, "G11 {vice}");
        unharmed(&client, "G11").await;
        client.close().await;
    }
}

#[tokio::test]
async fn probes_that_find_a_modern_server() {
    let client = client("modern probe once -32022").await;
    assert_eq!(client.era(), Era::Modern, "G11");
    unharmed(&client, "G11").await;
    // It is modern, and speaks nothing that we speak: that is no reason to try the old way.
    let end = within(setup().spawn(server("modern probe future"))).await;
    assert!(matches!(end, Err(Error::PeerIncompatible(_))), "G11: {end:?}");
}

#[tokio::test]
async fn handshakes_that_offer_nonsense() {
    for vice in ["handshake future", "handshake number", "handshake modern"] {
        let end = within(setup().spawn(server(&format!("legacy {vice}")))).await;
        assert!(
            matches!(end, Err(Error::PeerIncompatible(_) | Error::PeerMisbehaved(_))),
            "G11 {vice}: {end:?}"
        );
    }
}

/// A server that was modern yesterday and is legacy today: the caller hears of it.
#[tokio::test]
async fn eras_that_change() {
    let yesterday = client("modern").await;
    let known = yesterday.known_era();
    match within(setup().known_era(known).spawn(server("legacy"))).await {
        Ok(today) if today.era() == Era::Modern => {
            let end = within(today.request("no/such", json!({}))).await;
            assert!(end.is_err(), "G12: {end:?}");
        }
        Ok(today) => unharmed(&today, "G12").await,
        Err(error) => assert!(
            matches!(error, Error::PeerIncompatible(_) | Error::PeerMisbehaved(_) | Error::Remote(_)),
            "G12: {error}"
        ),
    }
}
