//! The paths of the negotiation, over pipes and over HTTP.

use super::*;
use Revision::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};

fn initialize(restart: bool) -> Step {
    Step::Initialize { offer: V2025_11_25, restart }
}

fn error(code: i64, supported: &[&str]) -> Heard {
    let data = serde_json::json!({ "supported": supported, "requested": "x" });
    Heard::Refused(ErrorObject::new(code, "no").data(data))
}

fn plain_error(code: i64) -> Heard {
    Heard::Refused(ErrorObject::new(code, "no"))
}

#[test]
fn a_discovery_settles_the_modern_era() {
    let (mut negotiation, step) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    assert_eq!(step, Step::Discover(V2026_07_28));
    let heard = Heard::Discovered(vec!["2026-07-28".into(), "2099-01-01".into()]);
    assert_eq!(negotiation.hear(heard), Step::Settled(V2026_07_28));
}

#[test]
fn everything_that_is_not_modern_leads_to_the_handshake() {
    let cases = [
        (plain_error(-32601), false),
        (plain_error(-32602), false),
        (plain_error(-32600), false),
        (Heard::Garbage, false),
        (Heard::Silence, false),
        (Heard::Gone, true),
        (error(-32022, &["2025-06-18"]), false),
        (error(-32022, &[]), false),
    ];
    for (heard, restart) in cases {
        let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
        assert_eq!(negotiation.hear(heard.clone()), initialize(restart), "{heard:?}");
        let settled = negotiation.hear(Heard::Initialized("2025-06-18".into()));
        assert_eq!(settled, Step::Settled(V2025_06_18));
    }
}

#[test]
fn a_server_that_dies_of_the_handshake_after_a_probe_is_started_anew_once() {
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    assert_eq!(negotiation.hear(plain_error(-32602)), initialize(false));
    assert_eq!(negotiation.hear(Heard::Gone), initialize(true));
    assert_eq!(negotiation.hear(Heard::Gone), Step::Failed(Disagreement::Gone));
}

#[test]
fn without_a_way_to_restart_the_end_is_the_end() {
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Pipe);
    assert_eq!(negotiation.hear(Heard::Gone), Step::Failed(Disagreement::Gone));
}

#[test]
fn a_modern_error_stays_modern() {
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    assert_eq!(negotiation.hear(error(-32022, &["2026-07-28"])), Step::Discover(V2026_07_28));
    assert!(matches!(negotiation.hear(error(-32022, &["2026-07-28"])), Step::Failed(_)));
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    let disjoint = negotiation.hear(error(-32022, &["2099-01-01"]));
    assert!(matches!(disjoint, Step::Failed(Disagreement::Versions { .. })));
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    assert!(matches!(negotiation.hear(plain_error(-32021)), Step::Failed(_)));
}

// covers: LIFE-VERSION-CLIENT-SUPPORTED, LIFE-VERSION-CLIENT-LATEST
#[test]
fn what_is_offered_is_the_newest_that_is_allowed() {
    let (_, step) = Negotiation::begin(&[V2025_06_18, V2024_11_05], None, Reach::Process);
    assert_eq!(step, Step::Initialize { offer: V2025_06_18, restart: false });
    let (_, step) = Negotiation::begin(&[V2024_11_05], None, Reach::Process);
    assert_eq!(step, Step::Initialize { offer: V2024_11_05, restart: false });
    let (mut negotiation, step) = Negotiation::begin(&[V2026_07_28], None, Reach::Process);
    assert_eq!(step, Step::Discover(V2026_07_28));
    assert!(matches!(negotiation.hear(plain_error(-32601)), Step::Failed(_)), "no fallback");
    assert!(matches!(Negotiation::begin(&[], None, Reach::Process).1, Step::Failed(_)));
}

// covers: LIFE-VERSION-DISCONNECT, LIFE-ERR-VERSION-MISMATCH, LIFE-VERSION-CLIENT-OLDER
#[test]
fn a_counter_offer_must_be_spoken() {
    let (mut negotiation, _) = Negotiation::begin(&[V2025_06_18, V2024_11_05], None, Reach::Process);
    assert_eq!(negotiation.hear(Heard::Initialized("2024-11-05".into())), Step::Settled(V2024_11_05));
    for version in ["2025-11-25", "2026-07-28", "1999-01-01", ""] {
        let (mut negotiation, _) = Negotiation::begin(&[V2025_06_18], None, Reach::Process);
        let step = negotiation.hear(Heard::Initialized(version.into()));
        let expected = Disagreement::Versions { theirs: vec![version.into()], ours: vec!["2025-06-18"] };
        assert_eq!(step, Step::Failed(expected));
    }
}

// covers: LIFE-ERR-VERSION-CODE
#[test]
fn a_refusal_that_names_versions_is_a_disagreement_on_versions() {
    let (mut negotiation, _) = Negotiation::begin(&[V2025_06_18], None, Reach::Process);
    let Step::Failed(disagreement) = negotiation.hear(error(-32602, &["2024-11-05"])) else {
        panic!("must fail")
    };
    assert_eq!(disagreement.to_string(), "the server speaks 2024-11-05; this client speaks 2025-06-18");
}

#[test]
fn a_modern_server_that_missed_the_probe_is_asked_again_once() {
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    assert_eq!(negotiation.hear(Heard::Silence), initialize(false));
    assert_eq!(negotiation.hear(error(-32602, &["2026-07-28"])), Step::Discover(V2026_07_28));
    assert!(matches!(negotiation.hear(plain_error(-32601)), Step::Failed(_)));
}

#[test]
fn a_late_answer_to_the_probe_counts() {
    let (mut negotiation, _) = Negotiation::begin(&Revision::ALL, None, Reach::Process);
    negotiation.hear(Heard::Silence);
    let heard = Heard::Discovered(vec!["2026-07-28".into()]);
    assert_eq!(negotiation.hear(heard.clone()), Step::Settled(V2026_07_28));
    let unasked = Negotiation::begin(&Revision::LEGACY, None, Reach::Process).0.hear(heard);
    assert_eq!(unasked, Step::Failed(Disagreement::Garbage));
    assert!(Negotiation::begin(&Revision::ALL, Some(V2026_07_28), Reach::Process).0.probe_is_final());
}

#[test]
fn what_is_remembered_saves_the_probe_but_is_not_given_up_silently() {
    let (_, step) = Negotiation::begin(&Revision::ALL, Some(V2025_06_18), Reach::Process);
    assert_eq!(step, initialize(false));
    let (mut negotiation, step) = Negotiation::begin(&Revision::ALL, Some(V2026_07_28), Reach::Process);
    assert_eq!(step, Step::Discover(V2026_07_28));
    assert!(matches!(negotiation.hear(plain_error(-32601)), Step::Failed(_)));
}

fn over_http() -> Negotiation {
    Negotiation::begin(&Revision::ALL, None, Reach::Http).0
}

fn object(code: i64, supported: &[&str]) -> ErrorObject {
    let data = serde_json::json!({ "supported": supported, "requested": "x" });
    ErrorObject::new(code, "no").data(data)
}

#[test]
fn over_http_trouble_is_no_evidence_of_an_era() {
    let silent = [Heard::Silence, Heard::Lost];
    let statuses =
        [301, 307, 401, 403, 408, 429, 500, 502, 503, 504].map(|status| Heard::Status(status, None));
    for heard in silent.into_iter().chain(statuses) {
        let step = over_http().hear(heard.clone());
        assert!(matches!(step, Step::Failed(_)), "{heard:?}: {step:?}");
        let (mut negotiation, _) = Negotiation::begin(&Revision::LEGACY, None, Reach::Http);
        let step = negotiation.hear(heard.clone());
        assert!(matches!(step, Step::Failed(_)), "{heard:?}: {step:?}");
    }
    let error = Some(object(-32601, &[]));
    assert_eq!(over_http().hear(Heard::Status(500, error)), Step::Failed(Disagreement::Status(500)));
    assert!(over_http().probe_is_final());
}

#[test]
fn over_http_what_refuses_the_probe_is_greeted_in_the_older_way() {
    for status in [400, 404, 405, 406, 415, 422] {
        assert_eq!(over_http().hear(Heard::Status(status, None)), initialize(false));
        let error = Some(ErrorObject::new(-32000, "no session"));
        assert_eq!(over_http().hear(Heard::Status(status, error)), initialize(false));
    }
    assert_eq!(over_http().hear(plain_error(-32601)), initialize(false));
    assert_eq!(over_http().hear(Heard::Garbage), initialize(false));
    let modern = Some(object(-32022, &["2026-07-28"]));
    assert_eq!(over_http().hear(Heard::Status(400, modern)), Step::Discover(V2026_07_28));
    assert!(matches!(over_http().hear(Heard::Status(400, Some(object(-32020, &[])))), Step::Failed(_)));
}

#[test]
fn over_http_what_refuses_the_handshake_may_be_older_still() {
    for status in [400, 404, 405] {
        let mut negotiation = over_http();
        negotiation.hear(Heard::Status(status, None));
        let step = negotiation.hear(Heard::Status(status, None));
        assert_eq!(step, Step::OlderTransport { offer: V2025_11_25 });
        let mut once = over_http();
        once.hear(Heard::Status(status, None));
        once.hear(Heard::Status(status, None));
        assert_eq!(once.hear(Heard::Initialized("2024-11-05".into())), Step::Settled(V2024_11_05));
        assert_eq!(negotiation.hear(Heard::Status(404, None)), Step::Failed(Disagreement::Status(404)));
    }
    for status in [401, 403, 406, 429, 500] {
        let mut negotiation = over_http();
        negotiation.hear(Heard::Status(404, None));
        assert_eq!(negotiation.hear(Heard::Status(status, None)), Step::Failed(Disagreement::Status(status)));
    }
    let mut negotiation = over_http();
    negotiation.hear(Heard::Status(404, None));
    let modern = Heard::Status(400, Some(object(-32022, &["2026-07-28"])));
    assert_eq!(negotiation.hear(modern), Step::Discover(V2026_07_28));
}
