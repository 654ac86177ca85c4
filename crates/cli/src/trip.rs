//! The person's way to an authorization server and back, from a terminal.
//!
//! The address is always shown before it is opened, with the host that the person is sent to. Nothing that the
//! person brings back is shown: it is as good as a password for a minute.

use contexture::auth::{Browser, Callback, CallbackParams, Visit, Visiting, Visitor};
use contexture::transport::PersonTime;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::terminal::note;
use crate::terminal::text::safe_line;

/// How the person gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// In the browser of this machine.
    Browser,
    /// By themselves, perhaps from another machine: then they bring the address back that they end at.
    Headless,
}

/// Sends the person at the terminal to log in.
pub(crate) struct Trip {
    way: Way,
    /// The one port that may be used.
    port: Option<u16>,
    person: PersonTime,
}

impl Trip {
    pub(crate) fn new(way: Way, port: Option<u16>, person: PersonTime) -> Self {
        Self { way, port, person }
    }
}

impl Visitor for Trip {
    fn prepare<'a>(&'a self, registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async move {
            let callback = Callback::bind_again(self.port, registered).await?;
            let visit: Box<dyn Visit> =
                Box::new(Journey { way: self.way, callback, person: self.person.clone() });
            Ok(visit)
        })
    }
}

/// On the way.
struct Journey {
    way: Way,
    callback: Callback,
    person: PersonTime,
}

impl Visit for Journey {
    fn redirect_uri(&self) -> &str {
        self.callback.redirect_uri()
    }

    fn go<'a>(self: Box<Self>, url: &'a str, state: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            let _asked = self.person.ask();
            if self.way == Way::Headless {
                note("Log in at this address, with a browser of your choice:");
                note(&format!("  {}", safe_line(url)));
                note(&format!(
                    "If the browser cannot open {} in the end, paste the address that it tries here.",
                    self.callback.redirect_uri()
                ));
                return tokio::select! {
                    back = self.callback.wait(state) => back,
                    back = pasted(state) => Ok(back),
                };
            }
            note(&format!("Opening {} in your browser, to log in. If nothing opens, visit", host(url)));
            note(&format!("  {}", safe_line(url)));
            if let Err(error) = Browser::new().open(url) {
                note(&format!("contexture: {}", safe_line(&error.to_string())));
            }
            self.callback.wait(state).await
        })
    }
}

/// Where the person is sent, in short.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    safe_line(rest.split(['/', '?', '#']).next().unwrap_or_default())
}

/// The first line on standard input that is the end of this login. If there is no more to come, the browser
/// may still come back by itself.
async fn pasted(state: &str) -> CallbackParams {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match CallbackParams::parse(line.trim()) {
            Ok(params) if params.state.as_deref() == Some(state) => return params,
            Ok(_) => note("That is the end of another login. Paste the address of this one."),
            Err(_) if line.trim().is_empty() => {}
            Err(_) => note("That is not the address that a login ends at."),
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_what_stands_before_the_path() {
        assert_eq!(
            host("https://issuer.example:8443/authorize?x=https://evil.example"),
            "issuer.example:8443"
        );
        assert_eq!(host("https://issuer.example?x"), "issuer.example");
    }
}
