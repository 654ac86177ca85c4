//! Streams, and what stands between: whether an answer comes when it is sent, and whether pages of strangers are refused.

use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH};

use super::super::report::Report;
use super::super::step::Step;
use super::probe::{Lost, Probe, SESSION, Seen};
use super::tls;

/// A page that nobody allowed.
const STRANGER: &str = "https://contexture-doctor.invalid";

/// Opens the stream that a server has for what it says by itself, in a session of its own.
pub(super) async fn judge(report: &mut Report, probe: &Probe, first: &Seen) {
    report.begin(Step::Stream);
    if first.is_stream()
        && let Some(words) = held_back(first)
    {
        report.fail::<()>(Step::Stream, words, next());
        return;
    }
    let Ok(opened) = probe.initialize(&probe.url, probe.quick()).await else {
        return report.passed(Step::Stream, "no session to open one in");
    };
    let session = opened.header(SESSION).map(str::to_owned);
    let streamed = probe.stream(&probe.url, session.as_deref()).await;
    if let Some(session) = &session {
        // Whether it can be ended has been told.
        let _ = probe.delete(session).await;
    }
    match streamed {
        Ok((seen, _)) if seen.status.is_success() && !seen.is_stream() => {
            let words = format!("GET is answered with {:?}, not with a stream", seen.kind());
            report.warn(Step::Stream, words, "its author has to answer GET with a stream, or with 405");
        }
        Ok((seen, _)) if seen.status.is_success() => match held_back(&seen) {
            Some(words) => {
                report.fail::<()>(Step::Stream, words, next());
            }
            None => report.passed(Step::Stream, "it begins at once"),
        },
        Ok((seen, _)) => {
            report.passed(
                Step::Stream,
                format!("it has none of its own (HTTP status {})", seen.status.as_u16()),
            );
        }
        Err(Lost::Late) => {
            let words = format!(
                "GET is not answered within {} s: a stream begins at once, so something holds it back",
                probe.quick().as_secs_f32()
            );
            report.fail::<()>(Step::Stream, words, next());
        }
        Err(Lost::Failed(_)) => {
            report.warn(
                Step::Stream,
                "GET ends without an answer",
                "its author has to answer with a stream, or with 405",
            );
        }
    }
}

/// Signs that a stream was collected before it was passed on.
fn held_back(seen: &Seen) -> Option<String> {
    if let Some(coding) = seen.header(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        return Some(format!(
            "a stream comes compressed ({coding}), which nobody asked for and which holds it back"
        ));
    }
    let length = seen.header(CONTENT_LENGTH)?;
    Some(format!(
        "a stream comes whole, with a length of {length}: something collects it before it passes it on"
    ))
}

fn next() -> &'static str {
    "switch off buffering and compression on the way: proxy_buffering off in nginx (or X-Accel-Buffering: no from the server), flushpackets=on in Apache, and no gzip for text/event-stream"
}

/// On this machine every page that a browser shows can reach a server: it has to refuse those that it does not know.
pub(super) async fn origin(report: &mut Report, probe: &Probe) {
    if !tls::is_loopback(&probe.url) {
        return;
    }
    report.begin(Step::Origin);
    let Ok(seen) = probe.as_page_of(STRANGER).await else { return };
    if let (Some(session), true) = (seen.header(SESSION), seen.status.is_success()) {
        // It was opened by accident.
        let _ = probe.delete(session).await;
    }
    if seen.status.is_success() {
        let words = "it answers to pages of strangers: any website that you visit could use it";
        let next = "its author has to look at the header Origin, and answer 403 to those that are not known";
        return report.warn(Step::Origin, words, next);
    }
    report.passed(Step::Origin, format!("with HTTP status {}", seen.status.as_u16()));
}
