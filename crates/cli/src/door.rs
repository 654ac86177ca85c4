//! A door for programs on this machine: an address on loopback, and no pages of strangers.
//!
//! What stands behind it has no login of its own, so it is never opened to other machines.

use std::net::SocketAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;

use crate::exit::Failure;

/// The names of this machine for itself.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Listens, on loopback or not at all.
pub(crate) async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let cannot = |error: std::io::Error| Failure::usage(format!("cannot listen on {address}: {error}"));
    let found: Vec<SocketAddr> = tokio::net::lookup_host(address).await.map_err(cannot)?.collect();
    if found.iter().any(|found| !found.ip().is_loopback()) {
        return Err(Failure::usage(format!("{address} can be reached from other machines"))
            .hint(Some("127.0.0.1:PORT is this machine only".to_owned())));
    }
    let listener = TcpListener::bind(&*found).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    Ok((listener, bound))
}

/// Refuses whoever took another name for us, and pages that we did not serve.
pub(crate) fn guard(headers: &HeaderMap, address: SocketAddr) -> Result<(), Box<Response>> {
    let ours = |authority: &str| NAMES.iter().any(|name| authority == format!("{name}:{}", address.port()));
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let named = text(HOST).is_some_and(ours);
    // Pictures and forms of pages come without an origin, but say whose they are.
    let is_ours = text(HeaderName::from_static("sec-fetch-site"))
        .is_none_or(|site| site == "same-origin" || site == "none");
    let from_us =
        is_ours && text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(ours));
    if named && from_us {
        return Ok(());
    }
    let why = if named { "requests from this origin are not served" } else { "this host is not served" };
    Err(Box::new((StatusCode::FORBIDDEN, why).into_response()))
}
