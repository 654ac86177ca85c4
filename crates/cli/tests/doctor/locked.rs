//! Servers that want to know who asks: each step on the way to a login, and what is missing.

use crate::healthy::Demo;
use crate::stage::{Case, Home, Verdict};

#[test]
fn the_way_to_a_login_is_walked_to_the_missing_step() {
    let (home, demo) = (Home::new(), Demo::listen(&["--protect"]));
    let verdict = home.doctor(&[&demo.url]);
    for step in ["http.answer", "auth.challenge", "auth.resource", "auth.issuer", "auth.registration"] {
        assert_eq!(verdict.step(step)["state"], "passed", "{:#}", verdict.document);
    }
    assert!(Verdict::words(verdict.step("auth.challenge")).contains("oauth-protected-resource"));
    let case = Case {
        name: "nobody is logged in",
        step: "auth.login",
        exit: 3,
        seen: &["nobody is logged in"],
        next: "contexture login http://127.0.0.1:",
    };
    case.holds(&verdict);
}
