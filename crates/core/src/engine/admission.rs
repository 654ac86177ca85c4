//! From a request on the wire to an exchange: which revision it speaks and who sends it.
//!
//! A modern request brings everything itself, in `_meta`; nothing is remembered from one to the next,
//! except that the same metadata need not be decoded twice. A legacy request gets it from its session.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json_rpc::{Request, RequestId};
use crate::model::{ClientCapabilities, ErrorObject, Implementation, LoggingLevel, Method, ProgressToken};
use crate::revision::{Revision, Rules};

/// The code of "too much at once; try again later". Outside the range that JSON-RPC and MCP reserve.
pub const BUSY: i64 = -31429;

/// Bytes of a progress token, as it stands in the text: every notification of progress repeats it.
const PROGRESS_TOKEN_BYTES: usize = 1024;

/// Who is at the other end: what it says about itself, which proves nothing.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The revision that is spoken.
    pub revision: Revision,
    /// Name and version, where given.
    pub info: Option<Implementation>,
    /// What it can do.
    pub capabilities: ClientCapabilities,
}

/// One request with all that is needed to answer it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Repeated in the answer.
    pub id: RequestId,
    /// What is asked for; this revision has it.
    pub method: Method,
    /// The rules of the revision that is spoken.
    pub rules: &'static Rules,
    /// Who asks.
    pub peer: Arc<Peer>,
    /// Progress is wanted under this token.
    pub progress_token: Option<ProgressToken>,
    /// Log messages of this level and above are wanted.
    pub log_level: Option<LoggingLevel>,
}

/// The members of `_meta` that decide about a request. Every other member is the handler's.
///
/// A member that is null is there: none of these may be null, so it is as wrong as any other value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DecidingMeta<'a> {
    #[serde(borrow, deserialize_with = "present", rename = "io.modelcontextprotocol/protocolVersion")]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present", rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present", rename = "io.modelcontextprotocol/clientInfo")]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present", rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present", rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> DecidingMeta<'a> {
    pub(super) fn read(meta: Option<&'a str>) -> Result<Self, ErrorObject> {
        match meta {
            Some(text) => serde_json::from_str(text)
                .map_err(|_| ErrorObject::invalid_params("the member \"_meta\" must be an object")),
            None => Ok(Self::default()),
        }
    }

    pub(super) fn progress_token(&self) -> Result<Option<ProgressToken>, ErrorObject> {
        if self.progress_token.is_some_and(|raw| raw.get().len() > PROGRESS_TOKEN_BYTES) {
            let reason = format!("a progress token is limited to {PROGRESS_TOKEN_BYTES} bytes");
            return Err(ErrorObject::invalid_params(reason));
        }
        self.progress_token
            .map(|raw| serde_json::from_str(raw.get()))
            .transpose()
            .map_err(|_| ErrorObject::invalid_params("a progress token is a string or an integer"))
    }
}

/// Bytes of metadata that are remembered. Longer ones are read anew each time, and nothing of them stays.
const REMEMBERED_BYTES: usize = 4 * 1024;

/// Remembers the last modern peer, because clients repeat the same metadata in every request.
#[derive(Debug, Default)]
pub struct PeerCache {
    last: Option<(Box<str>, Box<str>, Arc<Peer>)>,
    /// The whole of the last metadata that asked for no progress, and the level that it wanted.
    whole: Option<(Box<str>, Arc<Peer>, Option<LoggingLevel>)>,
}

impl PeerCache {
    /// The rules that the last peer spoke by; none before the first modern request.
    pub fn rules(&self) -> Option<&'static Rules> {
        self.last.as_ref().map(|(_, _, peer)| peer.revision.rules())
    }

    fn whole(&self, meta: Option<&str>) -> Option<(&Arc<Peer>, Option<LoggingLevel>)> {
        let (text, peer, level) = self.whole.as_ref()?;
        (Some(&**text) == meta).then_some((peer, *level))
    }

    fn peer(&mut self, revision: Revision, meta: &DecidingMeta<'_>) -> Result<Arc<Peer>, ErrorObject> {
        let capabilities =
            meta.client_capabilities.map(RawValue::get).ok_or_else(|| missing("clientCapabilities"))?;
        let info = meta.client_info.map_or("", RawValue::get);
        if let Some((known_capabilities, known_info, peer)) = &self.last
            && **known_capabilities == *capabilities
            && **known_info == *info
            && peer.revision == revision
        {
            return Ok(Arc::clone(peer));
        }
        let peer = Arc::new(Peer {
            revision,
            // For display only: a client that describes itself badly is served all the same.
            info: serde_json::from_str(info).ok(),
            capabilities: serde_json::from_str(capabilities).map_err(|_| {
                ErrorObject::invalid_params("clientCapabilities in _meta must be capabilities")
            })?,
        });
        if capabilities.len() + info.len() <= REMEMBERED_BYTES {
            self.last = Some((capabilities.into(), info.into(), Arc::clone(&peer)));
        }
        Ok(peer)
    }
}

/// What the headers of an HTTP request say about its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mirror<'a> {
    /// The revision.
    pub version: Option<&'a str>,
    /// The method.
    pub method: Option<&'a str>,
}

impl Mirror<'_> {
    fn check(&self, version: &str, method: &str) -> Result<(), ErrorObject> {
        let faults = [("MCP-Protocol-Version", self.version, version), ("Mcp-Method", self.method, method)];
        for (header, said, meant) in faults {
            match said {
                None => return Err(ErrorObject::header_mismatch(format!("the header {header} is missing"))),
                Some(said) if said != meant => {
                    let reason = format!("the header {header} and the body do not say the same");
                    return Err(ErrorObject::header_mismatch(reason));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// Admits a modern request, in the order in which faults are to be reported: metadata, headers,
/// version, method. `mirror` is what HTTP headers say; a pipe has none.
///
/// Returns `None` where the request does not say that it is modern.
pub fn admit_modern(
    request: &Request<'_>,
    cache: &mut PeerCache,
    mirror: Option<&Mirror<'_>>,
) -> Option<Result<Exchange, ErrorObject>> {
    if let Some((peer, log_level)) = cache.whole(request.meta) {
        return Some(admit_known(request, peer, log_level, mirror));
    }
    match DecidingMeta::read(request.meta) {
        Ok(meta) if meta.protocol_version.is_some() => Some(admit(request, &meta, cache, mirror)),
        _ => None,
    }
}

/// Admits a request whose metadata is, letter by letter, that of the one before.
fn admit_known(
    request: &Request<'_>,
    peer: &Arc<Peer>,
    log_level: Option<LoggingLevel>,
    mirror: Option<&Mirror<'_>>,
) -> Result<Exchange, ErrorObject> {
    if let Some(mirror) = mirror {
        mirror.check(peer.revision.as_str(), &request.method)?;
    }
    let rules = peer.revision.rules();
    let method = known_method(request, rules)?;
    let (id, peer) = (request.id.clone(), Arc::clone(peer));
    Ok(Exchange { id, method, rules, peer, progress_token: None, log_level })
}

fn admit(
    request: &Request<'_>,
    meta: &DecidingMeta<'_>,
    cache: &mut PeerCache,
    mirror: Option<&Mirror<'_>>,
) -> Result<Exchange, ErrorObject> {
    let requested: String = meta
        .protocol_version
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| missing("protocolVersion"))?;
    if meta.client_capabilities.is_none() {
        return Err(missing("clientCapabilities"));
    }
    let progress_token = meta.progress_token()?;
    let log_level = meta
        .log_level
        .map(|raw| serde_json::from_str(raw.get()))
        .transpose()
        .map_err(|_| ErrorObject::invalid_params("logLevel in _meta is not a level"))?;
    if let Some(mirror) = mirror {
        mirror.check(&requested, &request.method)?;
    }
    let revision = Revision::parse(&requested)
        .filter(|revision| revision.is_modern())
        .ok_or_else(|| unsupported_version(&requested))?;
    let peer = cache.peer(revision, meta)?;
    if let (None, Some(text)) = (&progress_token, request.meta.filter(|text| text.len() <= REMEMBERED_BYTES))
    {
        cache.whole = Some((text.into(), Arc::clone(&peer), log_level));
    }
    let rules = revision.rules();
    let method = known_method(request, rules)?;
    Ok(Exchange { id: request.id.clone(), method, rules, peer, progress_token, log_level })
}

/// The method, if this revision has it as a request of clients.
pub(super) fn known_method(request: &Request<'_>, rules: &Rules) -> Result<Method, ErrorObject> {
    Method::parse(&request.method)
        .filter(|method| rules.client_may_request(*method))
        .ok_or_else(|| ErrorObject::method_not_found(&request.method))
}

pub(super) fn unsupported_version(requested: &str) -> ErrorObject {
    let supported: Vec<_> = Revision::MODERN.iter().map(|revision| revision.as_str()).collect();
    ErrorObject::unsupported_version(requested, &supported)
}

fn missing(key: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("_meta lacks \"io.modelcontextprotocol/{key}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_rpc::{Decoder, Message};

    #[test]
    fn long_metadata_is_read_and_not_remembered() {
        for (name, remembered) in [("short".to_owned(), true), ("x".repeat(REMEMBERED_BYTES), false)] {
            let version = Revision::NEWEST_MODERN;
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{
                "io.modelcontextprotocol/protocolVersion":"{version}",
                "io.modelcontextprotocol/clientCapabilities":{{}},
                "io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}}}}}}}"#
            );
            let mut decoder = Decoder::default();
            let Ok(Message::Request(request)) = decoder.message(&text) else { panic!("a request") };
            let mut cache = PeerCache::default();
            let admitted = admit_modern(&request, &mut cache, None).expect("a modern request");
            assert!(admitted.is_ok_and(|exchange| exchange.peer.info.is_some()));
            assert_eq!((cache.last.is_some(), cache.whole.is_some()), (remembered, remembered));
        }
    }
}
