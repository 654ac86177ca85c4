//! From an address to a server that lets us in: the name, the connection, TLS, redirects, what answers, logins, sessions, streams.
//!
//! Asked with requests of our own, because a client is right to hide most of this. Nothing is ever sent to another origin than the
//! one that the person named, apart from requests for documents about logins, which go where `contexture::auth` lets them.

mod answer;
mod auth;
mod certificate;
mod probe;
mod session;
mod stream;
mod tls;

use std::time::{Duration, Instant};

use contexture::Error;
use contexture::auth::Authorization;
use contexture_host::config::TransportSpec;
use reqwest::Url;

use super::process::{builder, failed_handshake, policy};
use super::protocol::Connected;
use super::report::Report;
use super::step::Step;
use crate::options::Target;
use crate::place::Place;
use answer::Kind;
use probe::Probe;

/// The address of a server, and what is said to it.
pub(super) struct Address<'a> {
    place: &'a Place,
    target: &'a Target,
    url: &'a str,
    patience: Duration,
}

impl<'a> Address<'a> {
    /// `None` for what has no address.
    pub(super) fn of(place: &'a Place, target: &'a Target, patience: Duration) -> Option<Self> {
        Some(Self { place, target, url: place.url()?, patience })
    }

    /// Everything up to a handshake.
    pub(super) async fn connect(&self, report: &mut Report) -> Option<Connected> {
        match self.socket() {
            // Whatever is behind a socket of this machine has no name, no certificate and no proxy.
            Some(socket) => report.passed(Step::Connect, format!("over the socket {}", socket.display())),
            None => self.ask(report).await?,
        }
        self.shake_hands(report).await
    }

    fn socket(&self) -> Option<&std::path::Path> {
        let Place::Configured(entry) = self.place else { return None };
        let TransportSpec::Http { socket, .. } = &entry.transport else { return None };
        socket.as_deref()
    }

    /// With requests of our own.
    async fn ask(&self, report: &mut Report) -> Option<()> {
        report.begin(Step::Connect);
        let Ok(url) = Url::parse(self.url) else {
            return report.fail(Step::Connect, "this is no URL", "write https://host/path");
        };
        let probe = Probe::new(report, url, self.headers(), self.patience)?;
        probe.connect(report).await?;
        let (probe, seen) = probe.first(report).await?;
        let kind = answer::judge(report, &probe, &seen).await?;
        match kind {
            Kind::Locked => return self.login(report, &probe, &seen).await,
            Kind::Streamable => {
                session::judge(report, &probe, &seen).await;
                stream::judge(report, &probe, &seen).await;
                stream::origin(report, &probe).await;
            }
            Kind::Older => {
                report.passed(Step::Session, "the stream is the session");
                report.passed(Step::Stream, "its first event came at once");
            }
        }
        Some(())
    }

    /// A server that wants to know who asks.
    async fn login(&self, report: &mut Report, probe: &Probe, seen: &probe::Seen) -> Option<()> {
        let shows = self.target.has_credentials() || self.place.has_credentials();
        auth::judge(report, probe.url.as_str(), seen, shows).await?;
        let words = "only what is logged in could see: the client's own connection follows";
        report.leave(Step::Session, words);
        report.leave(Step::Stream, words);
        Some(())
    }

    /// What the person and the configuration say with every request.
    fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if let Place::Configured(entry) = self.place
            && let TransportSpec::Http { headers: written, .. } = &entry.transport
        {
            headers.extend(written.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())));
        }
        headers.extend(self.target.headers.iter().cloned());
        headers
    }

    /// The client's own way.
    async fn shake_hands(&self, report: &mut Report) -> Option<Connected> {
        report.begin(Step::Handshake);
        let revisions = match self.place {
            Place::Configured(entry) if matches!(entry.transport, TransportSpec::Http { sse: true, .. }) => {
                self.target.revisions_over_sse()
            }
            _ => self.target.revisions(),
        };
        let mut builder = builder(policy(self.patience), &revisions, self.patience);
        for (name, value) in self.headers() {
            builder = builder.header(name, value);
        }
        if let Some(socket) = self.socket() {
            builder = builder.unix_socket(socket);
        }
        if !self.target.has_credentials() && !self.place.has_credentials() {
            builder = builder.authorization(Authorization::stored());
        }
        let begun = Instant::now();
        match builder.connect(self.url).await {
            Ok(client) => Some(Connected { client, exit: None, log: None, took: begun.elapsed(), how: None }),
            Err(Error::Authorization(failure)) => {
                let next = format!("contexture login {}", crate::verbs::hint::quoted(self.url));
                report.fail(Step::Login, failure.to_string(), next)
            }
            Err(Error::Redirected(to)) => {
                let next = format!("use that address, if you trust it: {to}");
                report.fail(Step::Redirect, format!("it sends us to {to}"), next)
            }
            Err(error) => failed_handshake(report, &error),
        }
    }
}
