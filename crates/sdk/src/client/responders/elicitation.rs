//! A server asks the person, by a form or by sending them to a URL.
//!
//! Nothing is ever accepted without the responder saying so. What it accepts is checked against what was
//! asked, with defaults filled in. URLs are passed on to be shown, never opened or fetched here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{NoAnswer, form};
use crate::client::session::{ServerIdentity, Session};
use crate::engine::Allowance;
use crate::model::{ElicitParams, ElicitResult, ElicitSchema, ElicitValue};
use crate::revision::{Lower, Rules};

type Ask = Arc<dyn Fn(Question) -> BoxFuture<'static, ElicitAnswer> + Send + Sync>;

/// What a server asks a person.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Question {
    /// To fill in a form.
    Form {
        /// Who asks. Show it.
        server: ServerIdentity,
        /// Why it asks.
        message: String,
        /// The fields, in order, with titles, descriptions and which are required.
        schema: ElicitSchema,
    },
    /// To visit a URL. Show all of it, and open it only if the person agrees.
    Url {
        /// Who asks. Show it.
        server: ServerIdentity,
        /// Why it asks.
        message: String,
        /// Where to go: `https:` or `http:`, without user name or password.
        url: String,
        /// The host of the URL, to be made conspicuous.
        host: String,
        /// What [`Event::ElicitationComplete`](super::super::Event) will refer to (2025-11-25).
        elicitation_id: Option<String>,
    },
}

impl Question {
    /// Who asks.
    pub fn server(&self) -> &ServerIdentity {
        match self {
            Self::Form { server, .. } | Self::Url { server, .. } => server,
        }
    }

    /// Why it asks.
    pub fn message(&self) -> &str {
        match self {
            Self::Form { message, .. } | Self::Url { message, .. } => message,
        }
    }
}

/// What the person decided.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElicitAnswer {
    /// Yes, with these answers; none for a URL.
    Accept(BTreeMap<String, ElicitValue>),
    /// No.
    Decline,
    /// They went away without a choice.
    Cancel,
}

impl ElicitAnswer {
    /// Yes, with these answers.
    pub fn accept<K: Into<String>, V: Into<ElicitValue>>(answers: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Accept(answers.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// How a client answers `elicitation/create`.
#[derive(Clone)]
pub struct Elicitation {
    ask: Ask,
    urls: bool,
    per_second: u32,
    rate: Arc<Mutex<Allowance>>,
    started: Instant,
}

impl Elicitation {
    /// Asks the person.
    pub fn new<F>(ask: impl Fn(Question) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitAnswer> + Send + 'static,
    {
        Self {
            ask: Arc::new(move |question| Box::pin(ask(question))),
            urls: false,
            per_second: u32::MAX,
            rate: Arc::new(Mutex::new(Allowance::new(u32::MAX))),
            started: Instant::now(),
        }
    }

    /// Declares that the person can be sent to URLs.
    #[must_use]
    pub fn urls(mut self) -> Self {
        self.urls = true;
        self
    }

    /// Refuses more questions than this in a second. Every server is counted by itself.
    #[must_use]
    pub fn per_second(mut self, rate: u32) -> Self {
        self.per_second = rate;
        self
    }

    pub(in crate::client) fn for_one_server(&self) -> Self {
        let rate = Arc::new(Mutex::new(Allowance::new(self.per_second)));
        Self { rate, started: Instant::now(), ..self.clone() }
    }

    pub(in crate::client) fn takes_urls(&self) -> bool {
        self.urls
    }

    pub(super) fn check(&self, params: &ElicitParams, rules: &Rules) -> std::result::Result<(), String> {
        match params {
            ElicitParams::Url(_) if !(self.urls && rules.has_url_elicitation) => {
                Err("elicitation by URL was not declared".into())
            }
            ElicitParams::Url(params) => safe_host(&params.url).map(|_| ()),
            _ => Ok(()),
        }
    }

    pub(super) async fn answer(
        &self,
        session: &Session,
        params: ElicitParams,
    ) -> std::result::Result<ElicitResult, NoAnswer> {
        if !self.rate.lock().unwrap_or_else(PoisonError::into_inner).take(self.started.elapsed()) {
            return Err(NoAnswer::TooOften);
        }
        let server = session.server.clone();
        let (question, schema) = match params {
            ElicitParams::Form(params) => {
                let schema = params.requested_schema;
                (Question::Form { server, message: params.message, schema: schema.clone() }, Some(schema))
            }
            ElicitParams::Url(params) => {
                let host = safe_host(&params.url).map_err(NoAnswer::BadQuestion)?;
                let elicitation_id = params.elicitation_id;
                (
                    Question::Url { server, message: params.message, url: params.url, host, elicitation_id },
                    None,
                )
            }
            _ => return Err(NoAnswer::BadQuestion("an unknown mode of elicitation".into())),
        };
        let mut result = match ((self.ask)(question).await, schema) {
            (ElicitAnswer::Accept(answers), Some(schema)) => {
                ElicitResult::accept(form::complete(&schema, answers).map_err(NoAnswer::Unfit)?)
            }
            (ElicitAnswer::Accept(_), None) => ElicitResult::consent(),
            (ElicitAnswer::Decline, _) => ElicitResult::decline(),
            (ElicitAnswer::Cancel, _) => ElicitResult::cancel(),
        };
        result.lower(session.rules);
        Ok(result)
    }
}

/// The host of a URL that may be shown to a person.
pub(super) fn safe_host(url: &str) -> std::result::Result<String, String> {
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let Some(rest) = rest else { return Err("only https and http URLs are shown to people".into()) };
    // A URI is ASCII; whatever is not can look like something else, or turn the line around.
    if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Err("the URL has characters that hide where it leads".into());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("the URL names a user".into());
    }
    let host = match authority.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() { Err("the URL has no host".into()) } else { Ok(host.to_owned()) }
}

impl fmt::Debug for Elicitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elicitation").field("urls", &self.urls).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::safe_host;

    #[test]
    fn only_urls_that_show_where_they_lead_pass() {
        assert_eq!(safe_host("https://Example.com:8443/x?y#z").as_deref(), Ok("example.com"));
        assert_eq!(safe_host("http://[::1]:80/").as_deref(), Ok("::1"));
        let bad = [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "https://",
            "https:///x",
            "https://bank.example@evil.example/",
            "https://a.example\\@evil.example",
            "https://a b/",
            "//a.example",
            "vbscript:x",
            "https://a.example/\u{7}",
            "https://a.example/\u{202e}",
            "https://\u{430}.example/",
        ];
        for url in bad {
            assert!(safe_host(url).is_err(), "{url}");
        }
    }
}
