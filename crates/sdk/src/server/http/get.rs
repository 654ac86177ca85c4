//! GET and DELETE of the MCP endpoint: listening to a session, taking a stream up again, ending a session.
//!
//! Only the legacy era has these. A stream that is taken up again goes on where its last event was, with
//! nothing of any other stream.

use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode};

use super::body::Body;
use super::events::Replay;
use super::legacy::{check_version, no_session};
use super::post::{Version, new_stream};
use super::reply;
use super::session::{HttpSession, Turn};
use super::stream::{Stream, parse_event_id};
use super::streams::SessionEvents;
use super::table::{Permit, Table};
use crate::server::Principal;
use crate::server::mirrored::{name, single};

type Refused = Box<Response<Body>>;

/// Streams of one session that listen for what belongs to no call.
const READERS: usize = 4;

fn session(table: &Table, headers: &HeaderMap, principal: &Principal) -> Result<Arc<HttpSession>, Refused> {
    let version = Version::of(headers)
        .map_err(|error| Box::new(reply::error(StatusCode::BAD_REQUEST, None, false, &error)))?;
    check_version(&table.serving.revisions, &version)?;
    let Ok(Some(id)) = single(headers, &name::SESSION_ID) else {
        return Err(no_session(StatusCode::BAD_REQUEST, "this needs the Mcp-Session-Id of a session"));
    };
    table
        .session(id, principal)
        .ok_or_else(|| no_session(StatusCode::NOT_FOUND, "there is no such session; initialize again"))
}

/// The id of the caller's own session that a request names.
pub(super) fn owned(table: &Table, headers: &HeaderMap, principal: &Principal) -> Option<Arc<str>> {
    session(table, headers, principal).ok().map(|session| Arc::clone(&session.id))
}

/// Ends a session.
pub(super) fn delete(table: &Table, headers: &HeaderMap, principal: &Principal) -> Response<Body> {
    match session(table, headers, principal) {
        Ok(session) => {
            table.remove(&session.id, "its client ended it");
            reply::empty(StatusCode::NO_CONTENT)
        }
        Err(refused) => *refused,
    }
}

/// Opens a stream of a session, or takes one up again.
pub(super) async fn get(table: &Arc<Table>, headers: &HeaderMap, principal: &Principal) -> Response<Body> {
    let session = match session(table, headers, principal) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let Some(permit) = table.stream() else {
        return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open");
    };
    match single(headers, &name::LAST_EVENT_ID) {
        Ok(None) => listen(table, session, principal, permit),
        Ok(Some(id)) => resume(table, session, principal, id, permit).await,
        Err(_) => reply::refused(StatusCode::BAD_REQUEST, "one Last-Event-ID, as it was given"),
    }
}

fn listen(
    table: &Arc<Table>,
    session: Arc<HttpSession>,
    principal: &Principal,
    permit: Permit,
) -> Response<Body> {
    let Some(stream) = new_stream(&session, &session.general) else {
        return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "no stream can be opened now");
    };
    let Some(turn) = session.join_readers(READERS) else {
        return reply::busy(StatusCode::TOO_MANY_REQUESTS, "this session has enough streams");
    };
    session.keep_stream(&stream, &table.serving.policy);
    let mut first = Vec::new();
    if session.lock().session.rules().has_polling {
        stream.prime(None, &mut first);
    }
    let readers = (stream.attach(), Some(turn));
    let whose = (session, principal.clone());
    reply::events(SessionEvents::new(whose, stream, readers, table, permit, first))
}

async fn resume(
    table: &Arc<Table>,
    session: Arc<HttpSession>,
    principal: &Principal,
    last_event_id: &str,
    permit: Permit,
) -> Response<Body> {
    let Some((name, after)) = parse_event_id(last_event_id) else {
        return reply::refused(StatusCode::BAD_REQUEST, "this Last-Event-ID was never given");
    };
    let Some(stream) = session.stream(name) else { return *gone() };
    // Looked at twice: a request that is refused must not disturb whoever reads the stream now.
    if let Err(refused) = missed(table, &stream, after).await {
        return *refused;
    }
    let Ok(turn) = turn(&session, &stream) else {
        return reply::busy(StatusCode::TOO_MANY_REQUESTS, "this session has enough streams");
    };
    // From here on whoever read it before gets nothing more, so what is kept is all that there is.
    let reader = stream.attach();
    stream.release();
    let replay = match missed(table, &stream, after).await {
        Ok(replay) => replay,
        Err(refused) => return *refused,
    };
    let mut first = Vec::new();
    if replay.is_empty() && session.lock().session.rules().has_polling {
        stream.prime(None, &mut first);
    }
    for (number, data) in &replay {
        stream.repeat(*number, data, &mut first);
    }
    let whose = (session, principal.clone());
    reply::events(SessionEvents::new(whose, stream, (reader, turn), table, permit, first))
}

fn gone() -> Refused {
    no_session(StatusCode::NOT_FOUND, "this stream is gone; initialize again")
}

/// What was sent after this event.
async fn missed(table: &Table, stream: &Stream, after: u64) -> Result<Replay, Refused> {
    let refused = |why| Err(Box::new(reply::refused(StatusCode::BAD_REQUEST, why)));
    let last = stream.last();
    if after > last {
        return refused("this Last-Event-ID was never given");
    }
    let unread = |_| Box::new(reply::busy(StatusCode::SERVICE_UNAVAILABLE, "the events cannot be read now"));
    let replay = table.events.replay(&stream.id, after).await.map_err(unread)?;
    if replay.is_empty() && stream.is_abandoned() {
        return refused("nothing follows this event, and nothing will");
    }
    // More may have been sent meanwhile, but nothing may lack.
    let whole = (after + 1..=last).zip(&replay).filter(|(wanted, (number, _))| wanted == number).count();
    if whole as u64 == last - after { Ok(replay) } else { Err(gone()) }
}

/// A stream that belongs to no call has to queue up with the others of its kind.
fn turn(session: &Arc<HttpSession>, stream: &Stream) -> Result<Option<Turn>, ()> {
    if !Arc::ptr_eq(&stream.wire, &session.general) {
        return Ok(None);
    }
    session.join_readers(READERS).map(Some).ok_or(())
}
