//! Sessions of the legacy era: issued, taken, and over when they are ended.

use serde_json::json;

use super::super::report::Report;
use super::super::step::Step;
use super::probe::{Probe, SESSION, Seen};

/// What the first answer began, to its end.
pub(super) async fn judge(report: &mut Report, probe: &Probe, seen: &Seen) {
    report.begin(Step::Session);
    let is_open = seen.message().is_some_and(|message| message.get("result").is_some());
    if !is_open {
        return report.passed(Step::Session, "none is opened");
    }
    let Some(session) = seen.header(SESSION) else {
        return report.passed(Step::Session, "it keeps none");
    };
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    if let Ok(taken) = probe.post(session, ready).await
        && !taken.status.is_success()
    {
        let words =
            format!("notifications/initialized is answered with HTTP status {}", taken.status.as_u16());
        let next = if taken.status.as_u16() == 404 { lost() } else { "its author has to answer 202" };
        report.fail::<()>(Step::Session, words, next);
        return;
    }
    match probe.post(session, ping()).await {
        Ok(taken) if taken.status.is_success() => {}
        Ok(taken) if taken.status.as_u16() == 404 => {
            report.fail::<()>(Step::Session, "it does not know the session that it has just issued", lost());
            return;
        }
        Ok(taken) => {
            let words =
                format!("a ping in the session is answered with HTTP status {}", taken.status.as_u16());
            report.fail::<()>(
                Step::Session,
                words,
                "its author has to take requests in a session that is open",
            );
            return;
        }
        Err(_) => {
            report.fail::<()>(
                Step::Session,
                "a ping in the session is not answered",
                "its author has to answer `ping`",
            );
            return;
        }
    }
    end(report, probe, session).await;
}

fn lost() -> &'static str {
    "are there several copies of the server behind one address? Then each client has to reach the same one (sticky sessions), or they have to share sessions"
}

/// Ends it, and sees that it is over.
async fn end(report: &mut Report, probe: &Probe, session: &str) {
    let ended = probe.delete(session).await;
    let ended = match ended {
        Ok(seen) => seen.status,
        Err(_) => {
            let next = "its author has to answer DELETE, if only with 405";
            return report.warn(Step::Session, "it is issued and taken; DELETE is not answered", next);
        }
    };
    if !ended.is_success() {
        let words = format!("issued and taken; it cannot be ended (HTTP status {})", ended.as_u16());
        return report.passed(Step::Session, words);
    }
    match probe.post(session, ping()).await {
        Ok(seen) if seen.status.as_u16() == 404 => {
            report.passed(Step::Session, "issued, taken, and over when it is ended")
        }
        Ok(seen) => {
            let words =
                format!("a session that was ended is answered with HTTP status {}", seen.status.as_u16());
            let next = "its author has to answer 404, so that clients begin anew";
            report.warn(Step::Session, words, next);
        }
        Err(_) => report.passed(Step::Session, "issued, taken and ended"),
    }
}

fn ping() -> serde_json::Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })
}
