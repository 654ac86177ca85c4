//! HTTP+SSE, the transport of the first revision: one stream to listen to, another address to speak to.
//!
//! The stream comes first and says where messages go. An address at another origin is refused. When the stream
//! ends, so does the session: it cannot be resumed.

use std::sync::Arc;

use ::http::HeaderMap;

use super::address::Address;
use super::fetch::Fetch;
use super::stream::{Closed, Stream};
use super::streamable::HttpTransport;
use crate::error::HttpRefusal;
use crate::transport::Failure;
use crate::{Policy, Result};

/// Opens the stream and waits to be told where messages go.
pub(crate) async fn open(fetch: Arc<Fetch>, address: Address, policy: &Policy) -> Result<HttpTransport> {
    let transport = HttpTransport::new(fetch, address.clone(), policy);
    let mut stream = Stream::new(transport.way(HeaderMap::new()), None);
    stream.open().await.map_err(|closed| match closed {
        Closed::Refused { status, challenges } => {
            Failure::Refused(Box::new(HttpRefusal { challenges, ..HttpRefusal::new(status) }))
        }
        Closed::Failed(failure) => failure,
    })?;
    let endpoint = loop {
        match stream.next().await? {
            Some(event) if event.name == "endpoint" => break event.data,
            // Whatever comes before is not of this protocol.
            Some(event) if event.name == "message" && event.data.is_empty() => {}
            Some(event) => {
                let what = format!("the stream begins with {:?} instead of its endpoint", event.name);
                return Err(Failure::Misbehaved(what).into());
            }
            None => return Err(Failure::Misbehaved("the stream ended before its endpoint".into()).into()),
        }
    };
    let endpoint = address.join(endpoint.trim()).map_err(|elsewhere| {
        Failure::Misbehaved(format!("messages were to go to another origin, {elsewhere}: refused"))
    })?;
    Ok(transport.pair(endpoint, stream))
}
