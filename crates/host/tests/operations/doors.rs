//! `/healthz`, `/readyz`, `/metrics`.

use std::sync::{Arc, Weak};

use contexture_host::operations::{Doors, Metrics, Source, UpstreamReport};
use serde_json::{Value, json};

struct Two;

impl Source for Two {
    fn upstreams(&self) -> Vec<UpstreamReport> {
        vec![
            UpstreamReport { server: "files".into(), state: "ready", is_usable: true, connections: 3 },
            UpstreamReport { server: "git".into(), state: "failed", is_usable: false, connections: 0 },
        ]
    }

    fn parked(&self) -> usize {
        7
    }

    fn audit_lost(&self) -> u64 {
        11
    }
}

fn json_of(doors: &Doors, path: &str) -> (u16, Value) {
    let response = doors.answer(path);
    (response.status().as_u16(), serde_json::from_slice(response.body()).expect("JSON"))
}

#[test]
fn a_server_that_does_not_work_is_named_and_the_gateway_stays_ready() {
    let (metrics, two) = (Arc::new(Metrics::new()), Arc::new(Two));
    let source: Weak<dyn Source> = Arc::downgrade(&(two.clone() as Arc<dyn Source>));
    metrics.watch(source);
    let doors = Doors::new(Arc::clone(&metrics));
    let degraded = json!([{ "server": "git", "state": "failed" }]);
    let ready = json!({ "ready": true, "draining": false, "servers": 2, "degraded": degraded });
    assert_eq!(json_of(&doors, "/readyz"), (200, ready));
    let page = String::from_utf8(doors.answer("/metrics").into_body().to_vec()).expect("text");
    for line in [
        r#"contexture_upstream_up{server="files"} 1"#,
        r#"contexture_upstream_up{server="git"} 0"#,
        r#"contexture_upstream_state{server="git",state="failed"} 1"#,
        r#"contexture_upstream_connections{server="files"} 3"#,
        "contexture_parked_calls 7",
        r#"contexture_dropped_total{what="audit_line"} 11"#,
    ] {
        assert!(page.lines().any(|found| found == line), "{line} in {page}");
    }
}

#[test]
fn a_gateway_that_is_about_to_end_is_alive_and_not_ready() {
    let metrics = Arc::new(Metrics::new());
    let doors = Doors::new(Arc::clone(&metrics));
    assert_eq!(json_of(&doors, "/readyz").0, 200);
    metrics.drain();
    let (status, body) = json_of(&doors, "/readyz");
    assert_eq!((status, &body["ready"], &body["draining"]), (503, &json!(false), &json!(true)));
    assert_eq!(json_of(&doors, "/healthz"), (200, json!({ "alive": true })));
}

#[test]
fn there_are_no_other_doors() {
    let doors = Doors::new(Arc::new(Metrics::new()));
    for path in ["/", "/metrics/x", "/readyzz", "/HEALTHZ"] {
        assert_eq!(doors.answer(path).status(), 404, "{path}");
    }
}
