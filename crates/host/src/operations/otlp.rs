//! Traces over OTLP: HTTP with JSON, in batches.
//!
//! Written here because the crates that do it would be 22 more, among them second versions of what we have (base64, rand),
//! for one POST. Set by the variables that OpenTelemetry names. A collector that is slow or gone costs spans, which are
//! counted, and never a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use url::Url;

use super::trace::{Given, Kind, Span, hex};

/// Spans of one POST.
const BATCH: usize = 512;
/// How often one batch is tried.
const ATTEMPTS: u32 = 3;

/// Where traces go, and how.
#[derive(Clone)]
pub struct Settings {
    endpoint: Url,
    headers: HeaderMap,
    resource: Vec<(String, String)>,
    timeout: Duration,
    /// How long spans wait for company.
    delay: Duration,
    /// Spans that may wait.
    pub(super) queue: usize,
}

impl Settings {
    /// What the environment says, by the names of OpenTelemetry: `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`)
    /// switches it on. `Ok(None)` if nothing is to be exported.
    ///
    /// # Errors
    /// When what it says cannot be done, in words that do not repeat a header's value.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let of = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let own = |name: &str| of(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"));
        let any = |name: &str| own(name).or_else(|| of(&format!("OTEL_EXPORTER_OTLP_{name}")));
        let is_off = of("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"))
            || of("OTEL_TRACES_EXPORTER").is_some_and(|text| text == "none");
        let given = own("ENDPOINT").or_else(|| {
            of("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| format!("{}/v1/traces", base.trim_end_matches('/')))
        });
        let Some(given) = given.filter(|_| !is_off) else { return Ok(None) };
        if any("PROTOCOL").is_some_and(|protocol| protocol == "grpc") {
            return Err(
                "traces are exported over HTTP (OTEL_EXPORTER_OTLP_PROTOCOL=http/json), not over gRPC; \
                collectors have another port for it, usually 4318"
                    .to_owned(),
            );
        }
        let endpoint = Url::parse(&given).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let millis = |text: String| text.parse().ok().map(Duration::from_millis);
        Ok(Some(Self {
            endpoint: endpoint.ok_or("the OTLP endpoint is not an http(s) URL")?,
            headers: headers(&any("HEADERS").unwrap_or_default())?,
            resource: resource(of("OTEL_SERVICE_NAME"), of("OTEL_RESOURCE_ATTRIBUTES")),
            timeout: any("TIMEOUT").and_then(millis).unwrap_or(Duration::from_secs(10)),
            delay: of("OTEL_BSP_SCHEDULE_DELAY").and_then(millis).unwrap_or(Duration::from_secs(5)),
            queue: of("OTEL_BSP_MAX_QUEUE_SIZE")
                .and_then(|text| text.parse().ok())
                .unwrap_or(2048)
                .clamp(1, 65_536),
        }))
    }
}

/// Headers may be secrets.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("host", &self.endpoint.host_str()).finish_non_exhaustive()
    }
}

/// `key=value,key=value`, values percent-encoded.
fn pairs(text: &str) -> impl Iterator<Item = (&str, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.trim(), decoded(value.trim())))
}

fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(text) {
        let unusable = || format!("the OTLP header {name:?} cannot be sent");
        let name: HeaderName = name.parse().map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| unusable())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn resource(name: Option<String>, attributes: Option<String>) -> Vec<(String, String)> {
    let attributes = attributes.unwrap_or_default();
    let mut all: Vec<(String, String)> =
        pairs(&attributes).map(|(key, value)| (key.to_owned(), value)).collect();
    let named = all.iter().any(|(key, _)| key == "service.name");
    match name {
        Some(name) => {
            all.retain(|(key, _)| key != "service.name");
            all.push(("service.name".to_owned(), name));
        }
        None if !named => all.push(("service.name".to_owned(), "contexture".to_owned())),
        None => {}
    }
    all.push(("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    all
}

/// Sends spans to a collector.
pub(super) struct Exporter {
    settings: Settings,
    client: reqwest::Client,
    dropped: Arc<AtomicU64>,
    /// Whether the person was told that it does not work.
    complained: bool,
}

/// What came of one POST.
enum Posted {
    Taken,
    Later,
    Refused(String),
}

impl Exporter {
    pub(super) fn new(settings: Settings, dropped: Arc<AtomicU64>) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(settings.timeout)
            .user_agent(concat!("contexture/", env!("CARGO_PKG_VERSION")));
        if settings.endpoint.scheme() == "http" {
            // No certificate will be looked at, so none need be loaded.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        if crate::tls::is_loopback(&settings.endpoint) {
            builder = builder.no_proxy();
        }
        crate::tls::choose_cryptography();
        let client = builder.build().map_err(|error| format!("traces cannot be exported: {error}"))?;
        Ok(Self { settings, client, dropped, complained: false })
    }

    /// Until nobody makes spans any more.
    pub(super) async fn run(mut self, mut given: mpsc::Receiver<Given>) {
        let mut batch: Vec<Span> = Vec::new();
        let mut due = Instant::now();
        loop {
            let next = tokio::select! {
                next = given.recv() => next,
                () = tokio::time::sleep_until(due), if !batch.is_empty() => {
                    self.export(&mut batch).await;
                    continue;
                }
            };
            match next {
                Some(Given::Span(span)) => {
                    if batch.is_empty() {
                        due = Instant::now() + self.settings.delay;
                    }
                    batch.push(*span);
                    if batch.len() >= BATCH {
                        self.export(&mut batch).await;
                    }
                }
                Some(Given::Flush(done)) => self.flush(&mut batch, done).await,
                None => return self.export(&mut batch).await,
            }
        }
    }

    async fn flush(&mut self, batch: &mut Vec<Span>, done: oneshot::Sender<()>) {
        self.export(batch).await;
        let _ = done.send(());
    }

    async fn export(&mut self, batch: &mut Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        let body = encode(&self.settings.resource, batch).to_string();
        batch.clear();
        for attempt in 1..=ATTEMPTS {
            match self.post(body.clone()).await {
                Posted::Taken => return,
                Posted::Later if attempt < ATTEMPTS => {
                    tokio::time::sleep(Duration::from_millis(250) * 2u32.pow(attempt)).await;
                }
                Posted::Later => self.lost(count, "the collector has no time"),
                Posted::Refused(why) => return self.lost(count, &why),
            }
        }
    }

    fn lost(&mut self, count: u64, why: &str) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
        if !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(why, "spans were lost; this is said once, and counted");
        }
    }

    async fn post(&self, body: String) -> Posted {
        let request = self.client.post(self.settings.endpoint.clone()).headers(self.settings.headers.clone());
        let answer =
            request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body).send().await;
        match answer {
            Ok(answer) if answer.status().is_success() => Posted::Taken,
            Ok(answer) if matches!(answer.status().as_u16(), 429 | 502 | 503 | 504) => Posted::Later,
            Ok(answer) => Posted::Refused(format!("the collector answers {}", answer.status())),
            // Its words would have the address in them, which may be secret.
            Err(error) if error.is_timeout() => Posted::Refused("the collector does not answer".to_owned()),
            Err(_) => Posted::Refused("the collector cannot be reached".to_owned()),
        }
    }
}

/// `ExportTraceServiceRequest`, in the JSON that OTLP defines: ids in hexadecimal, times as text.
fn encode(resource: &[(String, String)], spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(encode_span).collect();
    let resource: Vec<Value> = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{
            "scope": { "name": "contexture", "version": env!("CARGO_PKG_VERSION") },
            "spans": spans,
        }],
    }] })
}

fn encode_span(span: &Span) -> Value {
    let outcome = span.outcome.word();
    let mut attributes: Vec<Value> =
        span.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
    attributes.push(attribute("contexture.outcome", outcome));
    let mut encoded = json!({
        "traceId": hex(&span.id.trace),
        "spanId": hex(&span.id.span),
        "name": span.name,
        "kind": match span.kind { Kind::Server => 2, Kind::Client => 3 },
        "startTimeUnixNano": nanos(span.began),
        "endTimeUnixNano": nanos(span.ended),
        "flags": 1,
    });
    if let Some(parent) = &span.parent {
        encoded["parentSpanId"] = hex(parent).into();
    }
    if span.outcome.is_failure() {
        attributes.push(attribute("error.type", outcome));
        encoded["status"] = json!({ "code": 2 });
    }
    encoded["attributes"] = attributes.into();
    encoded
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
