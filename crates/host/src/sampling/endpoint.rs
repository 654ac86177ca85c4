//! One provider's address: a question goes there as JSON, once, and a bounded answer comes back in bounded time.
//!
//! Keys go to the configured origin only: redirects are not followed, and plain HTTP is for this machine. They are read when
//! they are needed, so that they can be replaced, and never stand in an error or a log.

use std::io::Read as _;
use std::sync::OnceLock;
use std::time::Duration;

use contexture::auth::Secret;
use contexture::model::{CreateMessageParams, CreateMessageResult, ErrorObject};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use super::config::{ProviderConfig, ProviderKind};
use super::{anthropic, openai};
use crate::tls::{choose_cryptography, is_loopback};

/// Bytes of an answer.
const ANSWER: usize = 8 * 1024 * 1024;
/// Bytes of a key.
const KEY: u64 = 16 * 1024;
/// Characters of what a provider says about its failure.
const SAID: usize = 300;
/// How long connecting may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// A provider.
#[derive(Debug)]
pub(super) struct Endpoint {
    name: String,
    config: ProviderConfig,
    url: Url,
    here: bool,
    time: Duration,
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl Endpoint {
    pub(super) fn new(name: &str, config: &ProviderConfig, time: Duration) -> Result<Self, String> {
        let path = match config.kind {
            ProviderKind::OpenAi => "chat/completions",
            ProviderKind::Anthropic => "messages",
        };
        let wrong = |what: &str| format!("sampling: the url of provider {name:?} {what}");
        let url = Url::parse(&format!("{}/{path}", config.url.trim_end_matches('/')))
            .map_err(|error| wrong(&format!("is none: {error}")))?;
        let here = is_loopback(&url);
        match url.scheme() {
            "https" => {}
            "http" if here => {}
            "http" => return Err(wrong("must be https: a key would travel in the clear")),
            _ => return Err(wrong("must be https, or http on this machine")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not hold credentials: use keyEnv or keyFile"));
        }
        if config.key_env.is_some() && config.key_file.is_some() {
            return Err(format!("sampling: provider {name:?} has both keyEnv and keyFile"));
        }
        let client = OnceLock::new();
        Ok(Self { name: name.to_owned(), config: config.clone(), url, here, time, client })
    }

    /// Asks a model of this provider.
    pub(super) async fn ask(
        &self,
        model: &str,
        params: &CreateMessageParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let body = match self.config.kind {
            ProviderKind::OpenAi => openai::request(model, params, self.config.max_completion_tokens)?,
            ProviderKind::Anthropic => anthropic::request(model, params)?,
        };
        let answered = match tokio::time::timeout(self.time, self.exchange(&body)).await {
            Ok(answered) => answered,
            Err(_) => Err(Unanswered::plain("did not answer in time")),
        };
        let result = answered.and_then(|answer| {
            let read = match self.config.kind {
                ProviderKind::OpenAi => openai::answer(&answer, model),
                ProviderKind::Anthropic => anthropic::answer(&answer, model),
            };
            read.map_err(|what| Unanswered {
                told: "gave an answer that cannot be understood".into(),
                known: what,
            })
        });
        result.map_err(|failure| {
            // People who run this learn more than the server that asked.
            tracing::warn!(
                provider = self.name,
                what = failure.told,
                because = failure.known,
                "a model gave no answer"
            );
            ErrorObject::internal(format!("the model could not be asked: its provider {}", failure.told))
        })
    }

    async fn exchange(&self, body: &Value) -> Result<Vec<u8>, Unanswered> {
        let key = self.key()?;
        let headers = self.headers(key.as_ref())?;
        let made = self.client.get_or_init(|| self.connect());
        let client = made.as_ref().map_err(|error| Unanswered::because("cannot be reached", error))?;
        let sent = client.post(self.url.clone()).headers(headers).json(body).send().await;
        // The address is known already, and may hold what others need not know.
        let sent = sent.map_err(|error| Unanswered::because("cannot be reached", &error.without_url()))?;
        let status = sent.status();
        let answer = bounded(sent).await?;
        if status.is_success() {
            return Ok(answer);
        }
        let said = said(&answer);
        let known = key.map_or_else(|| said.clone(), |key| said.replace(key.expose(), "***"));
        Err(Unanswered { told: format!("refused with status {}", status.as_u16()), known })
    }

    fn connect(&self) -> Result<reqwest::Client, String> {
        choose_cryptography();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME);
        if self.here {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| error.to_string())
    }

    fn headers(&self, key: Option<&Secret>) -> Result<HeaderMap, Unanswered> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.config.kind == ProviderKind::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static(anthropic::VERSION));
        }
        let Some(key) = key else { return Ok(headers) };
        let (name, value) = match self.config.kind {
            ProviderKind::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            ProviderKind::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
        };
        // The error would show the value.
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            Unanswered::because("is not set up", &"the key has characters that no header can have")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    fn key(&self) -> Result<Option<Secret>, Unanswered> {
        let missing = |what: String| Unanswered::because("is not set up", &what);
        let text = match (&self.config.key_env, &self.config.key_file) {
            (Some(variable), _) => {
                std::env::var(variable).map_err(|_| missing(format!("the variable {variable} is not set")))?
            }
            (None, Some(path)) => {
                let wrong = |error: std::io::Error| missing(format!("{}: {error}", path.display()));
                let mut text = String::new();
                let file = std::fs::File::open(path).map_err(wrong)?;
                file.take(KEY).read_to_string(&mut text).map_err(wrong)?;
                text
            }
            (None, None) => return Ok(None),
        };
        match text.trim() {
            "" => Err(missing("the key is empty".to_owned())),
            key => Ok(Some(Secret::new(key))),
        }
    }
}

/// Why there is no answer: what whoever asked may know, and what whoever runs this has to.
struct Unanswered {
    told: String,
    known: String,
}

impl Unanswered {
    fn plain(told: &str) -> Self {
        Self { told: told.to_owned(), known: String::new() }
    }

    fn because(told: &str, known: &dyn std::fmt::Display) -> Self {
        Self { told: told.to_owned(), known: known.to_string() }
    }
}

async fn bounded(mut response: reqwest::Response) -> Result<Vec<u8>, Unanswered> {
    let mut answer = Vec::new();
    loop {
        let chunk = response.chunk().await;
        match chunk.map_err(|error| Unanswered::because("broke off", &error.without_url()))? {
            None => return Ok(answer),
            Some(chunk) if answer.len() + chunk.len() > ANSWER => {
                return Err(Unanswered::plain("answered with too much"));
            }
            Some(chunk) => answer.extend_from_slice(&chunk),
        }
    }
}

/// What both kinds of providers say when they fail: `{"error": {"message": …}}`.
fn said(answer: &[u8]) -> String {
    let parsed: Option<Value> = serde_json::from_slice(answer).ok();
    let message = parsed.as_ref().and_then(|answer| answer.pointer("/error/message")).and_then(Value::as_str);
    message.unwrap_or_default().chars().filter(|char| !char.is_control()).take(SAID).collect()
}
