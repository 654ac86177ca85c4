//! A POST to the MCP endpoint: which era it is of, and what becomes of it.
//!
//! The body decides; headers are only compared with it. A request that is refused runs nothing and leaves
//! nothing behind.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use super::answering::{Answering, Form, Work, refuse};
use super::body::Body;
use super::needed::{self, Door};
use super::reply;
use super::session::HttpSession;
use super::stream::Stream;
use super::streams::{AnswerEvents, ChangeEvents};
use super::table::{Permit, Reader, Table};
use crate::Scopes;
use crate::engine::{Exchange, Mirror, PeerCache};
use crate::json_rpc::{Frame, Message, Refusal, Request, RequestId};
use crate::model::ErrorObject;
use crate::revision::{ErrorId, Revision, Rules};
use crate::server::Principal;
use crate::server::exchange::{Run, guarded};
use crate::server::listen::Listen;
use crate::server::mirrored::{Head, name, single};
use crate::server::seal::fresh_id;
use crate::server::serving::Arrival;
use crate::server::wire::Wire;

/// A POST whose body has been read.
pub(super) struct Post {
    pub(super) table: Arc<Table>,
    pub(super) head: Head,
    pub(super) principal: Principal,
    pub(super) permit: Permit,
    pub(super) stateless: bool,
    /// Where there is an authorizer.
    pub(super) door: Option<Box<Door>>,
}

/// What the version header says.
pub(super) enum Version {
    Absent,
    Known(Revision),
    Unknown(String),
}

impl Version {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, ErrorObject> {
        Ok(match single(headers, &name::PROTOCOL_VERSION)? {
            None => Self::Absent,
            Some(text) => match Revision::parse(text) {
                Some(revision) => Self::Known(revision),
                None => Self::Unknown(text.to_owned()),
            },
        })
    }

    /// The revision that a request of an older client is taken to speak.
    pub(super) fn revision(&self) -> Revision {
        match self {
            Self::Known(revision) => *revision,
            _ => Revision::HEADERLESS,
        }
    }

    /// The rules by which a message is answered that nothing else is known about.
    fn rules(&self) -> &'static Rules {
        match self {
            Self::Absent => Revision::HEADERLESS.rules(),
            Self::Known(revision) => revision.rules(),
            Self::Unknown(_) => Revision::NEWEST_MODERN.rules(),
        }
    }
}

impl Post {
    /// Begins what a body asks for, or has the response at once.
    pub(super) fn begin(self, frame: Bytes) -> Result<Answering, Box<Response<Body>>> {
        let version = Version::of(&self.head)
            .map_err(|error| Box::new(reply::error(StatusCode::BAD_REQUEST, None, false, &error)))?;
        let mut shared = self.table.reader(frame.len());
        let mut own = None;
        let reader = match &mut shared {
            Some(reader) => &mut **reader,
            None => own.insert(Reader::new(self.table.serving.policy.limits)),
        };
        let decoded = reader.decoder.frame(&frame).map_err(|refusal| self.refuse(&refusal, &version))?;
        match decoded {
            Frame::Single(Message::Request(request)) => {
                let admitted = self.admit_modern(&request, &version, &mut reader.peers);
                drop(shared);
                self.check_scopes(|| self.table.serving.scopes_for(&request))?;
                match admitted {
                    Some(exchange) => self.begin_modern(exchange?, &request, &frame),
                    None => self.legacy_request(&request, &frame, &version),
                }
            }
            Frame::Single(message) => {
                drop(shared);
                Err(Box::new(self.legacy_other(message, &version)))
            }
            Frame::Batch(items) => {
                drop(shared);
                self.check_scopes(|| self.table.serving.scopes_for_all(&items))?;
                self.legacy_batch(&items, &frame, &version)
            }
        }
    }

    /// Refuses whoever was granted less than all of this needs.
    fn check_scopes(&self, needed: impl FnOnce() -> Scopes) -> Result<(), Box<Response<Body>>> {
        needed::check(self.door.as_deref(), &self.head, &self.principal, needed)
    }

    /// Refuses what is no message. An answer that makes no sense is not waited for any longer.
    fn refuse(&self, refusal: &Refusal, version: &Version) -> Box<Response<Body>> {
        if let (Some(id), false) = (&refusal.id, refusal.has_method || self.stateless)
            && let Ok(session) = self.session(version)
        {
            session.talk.settle_malformed(id, &refusal.error);
        }
        Box::new(refused(refusal, version.rules()))
    }

    /// Admits a modern request; none if it is not one.
    fn admit_modern(
        &self,
        request: &Request<'_>,
        version: &Version,
        peers: &mut PeerCache,
    ) -> Option<Result<Exchange, Box<Response<Body>>>> {
        let serving = &self.table.serving;
        let said = match version {
            Version::Absent => None,
            Version::Known(revision) => Some(revision.as_str()),
            Version::Unknown(text) => Some(text.as_str()),
        };
        let method = match single(&self.head, &name::METHOD) {
            Ok(method) => method.map(str::trim),
            Err(error) => return Some(Err(bad_request(&request.id, &error))),
        };
        let mirror = Mirror { version: said, method };
        let admitted = serving.admit_modern(request, peers, Some(&mirror));
        match (admitted, version) {
            (Some(Ok(exchange)), _) => Some(Ok(exchange)),
            (Some(Err(error)), _) => {
                let found = error.code != crate::model::code::METHOD_NOT_FOUND;
                let status = if found { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND };
                Some(Err(Box::new(reply::error(status, Some(&request.id), false, &error))))
            }
            (None, Version::Unknown(text)) => Some(Err(bad_request(&request.id, &serving.not_spoken(text)))),
            (None, Version::Known(revision)) if revision.is_modern() => {
                let error = ErrorObject::invalid_params(
                    "_meta lacks \"io.modelcontextprotocol/protocolVersion\", which the header promises",
                );
                Some(Err(bad_request(&request.id, &error)))
            }
            (None, _) => None,
        }
    }

    fn begin_modern(
        self,
        exchange: Exchange,
        request: &Request<'_>,
        frame: &Bytes,
    ) -> Result<Answering, Box<Response<Body>>> {
        let wire = Wire::new(&self.table.serving.policy, None);
        let rules = exchange.rules;
        let run = self.run(exchange, request, frame, &wire);
        let run = run.map_err(|error| Box::new(refuse(rules, &request.id, &error)))?;
        Ok(self.alone(Work::One { run, entered: false }, wire, true))
    }

    /// Begins the work for an exchange.
    pub(super) fn run(
        &self,
        exchange: Exchange,
        request: &Request<'_>,
        frame: &Bytes,
        wire: &Arc<Wire>,
    ) -> Result<Run, ErrorObject> {
        let arrival = Arrival {
            params: request.params,
            meta: request.meta,
            call: request.call,
            frame,
            principal: &self.principal,
            wire,
            head: Some(&self.head),
        };
        guarded(|| self.table.serving.begin(exchange, &arrival))?
    }

    /// An exchange that belongs to no session.
    pub(super) fn alone(self, work: Work, wire: Arc<Wire>, cancelled_by_leaving: bool) -> Answering {
        Answering {
            cancelled_by_leaving,
            work: Some(work),
            wire,
            table: self.table,
            principal: self.principal,
            session: None,
            stream: None,
            permit: Some(self.permit),
            _busy: None,
        }
    }
}

fn bad_request(id: &RequestId, error: &ErrorObject) -> Box<Response<Body>> {
    Box::new(reply::error(StatusCode::BAD_REQUEST, Some(id), false, error))
}

/// What cannot be read is answered as well as it can be.
pub(super) fn refused(refusal: &Refusal, rules: &Rules) -> Response<Body> {
    let null_id = rules.error_id == ErrorId::Null;
    let id = refusal.id.as_ref();
    // An error to a notification has no id to name, in any revision.
    reply::error(StatusCode::BAD_REQUEST, id, null_id && !refusal.is_notification, &refusal.error)
}

/// The answer in the form that it takes.
pub(super) fn answer(form: Form, answering: Answering) -> Response<Body> {
    match form {
        Form::Whole(response) => response,
        Form::Events => events(answering),
        Form::Listening(context, filter) => {
            let (table, wire) = (&answering.table, &answering.wire);
            let Some(permit) = table.stream() else {
                return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open");
            };
            let listen = Listen::open(&context, filter, wire);
            let principal = answering.principal.clone();
            reply::events(ChangeEvents::new(listen, Arc::clone(wire), table, principal, permit))
        }
    }
}

fn events(mut answering: Answering) -> Response<Body> {
    let is_over = answering.work.is_none();
    let is_silent = is_over && !answering.wire.has_output();
    if let Some(session) = answering.session.as_ref().filter(|_| !is_silent)
        && let Some(stream) = new_stream(session, &answering.wire)
    {
        session.keep_stream(&stream, &answering.table.serving.policy);
        if is_over {
            stream.finish(true);
        }
        answering.stream = Some(stream);
    }
    let events = AnswerEvents::new(answering);
    if is_over { reply::all_events(events.all()) } else { reply::events(events) }
}

/// A stream with a name that nobody can guess. Without randomness there is none, and nothing to take up again.
pub(super) fn new_stream(session: &HttpSession, wire: &Arc<Wire>) -> Option<Arc<Stream>> {
    let name = fresh_id().ok()?;
    Some(Stream::new(&session.id, &name, wire))
}
