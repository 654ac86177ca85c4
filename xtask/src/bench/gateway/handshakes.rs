//! How often a gateway shakes hands with the server behind it: what passes between the two is copied and counted, in a run
//! of its own that is not timed.

use super::peers::{Gateway, Place, Target, Way};
use super::upstream::{self, Upstream};
use crate::interop::relay::Relay;
use serde_json::Value;

/// Handshakes, and calls, of one run.
pub(super) fn count(
    place: &Place,
    gateway: &Gateway,
    way: Way,
    drive: impl Fn(&[String]) -> Result<Value, String>,
) -> Result<(usize, usize), String> {
    let said = if way == Way::HttpToStdio {
        piped(place, gateway, &drive)?
    } else {
        relayed(place, gateway, way, &drive)?
    };
    Ok((
        occurrences(&said, "initialize") + occurrences(&said, "server/discover"),
        occurrences(&said, "tools/call"),
    ))
}

fn relayed(
    place: &Place,
    gateway: &Gateway,
    way: Way,
    drive: &impl Fn(&[String]) -> Result<Value, String>,
) -> Result<Vec<u8>, String> {
    let server = Upstream::start(place, 5)?;
    let relay = Relay::to(server.address).map_err(|error| format!("no relay: {error}"))?;
    let target = Target::Url(upstream::url(relay.address));
    drive(&(gateway.command)(place, way, &target)?)?;
    Ok(relay.stop().into_iter().flat_map(|heard| heard.asked).collect())
}

/// Over pipes every start of the server writes what it is told to the end of one file.
fn piped(
    place: &Place,
    gateway: &Gateway,
    drive: &impl Fn(&[String]) -> Result<Value, String>,
) -> Result<Vec<u8>, String> {
    let (script, copy) = (place.folder.join("copied.sh"), place.folder.join("copied.jsonl"));
    let server = place.server(&["stdio"], 5).join(" ");
    let text = format!("tee -a {} | {server}\n", copy.display());
    let failed = |error: std::io::Error| format!("the copy: {error}");
    std::fs::write(&script, text).and_then(|()| std::fs::write(&copy, "")).map_err(failed)?;
    let target = Target::Command(vec!["sh".into(), script.to_string_lossy().into_owned()]);
    drive(&(gateway.command)(place, Way::HttpToStdio, &target)?)?;
    std::fs::read(&copy).map_err(failed)
}

/// How many requests of a method there are in what was said, with or without a blank behind the colon.
fn occurrences(said: &[u8], method: &str) -> usize {
    let count = |text: String| said.windows(text.len()).filter(|window| *window == text.as_bytes()).count();
    count(format!("\"method\":\"{method}\"")) + count(format!("\"method\": \"{method}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_their_method() {
        let said =
            br#"{"method":"initialize"}{"method": "initialize"}{"method":"notifications/initialized"}"#;
        assert_eq!(occurrences(said, "initialize"), 2);
        assert_eq!(occurrences(said, "tools/call"), 0);
    }
}
