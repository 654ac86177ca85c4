//! The legacy era over HTTP: sessions by `Mcp-Session-Id`, or none at all where the server keeps no state.
//!
//! A session's id opens nothing for anybody but the principal who was given it. Whatever comes without one is
//! refused, however few sessions there are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};

use super::answering::{Answering, Work, refuse};
use super::batch::Batch;
use super::body::Body;
use super::post::{Post, Version};
use super::reply;
use super::session::HttpSession;
use crate::engine::{self, Admitted};
use crate::json_rpc::{self, Decoder, Message, Notification, Request, RequestId, Response as Answer};
use crate::model::{CancelledParams, ErrorObject, Method};
use crate::revision::{ErrorId, Revision, Rules};
use crate::server::exchange::Run;
use crate::server::hooks::Occasion;
use crate::server::mirrored::{name, single};
use crate::server::seal::fresh_id;
use crate::server::wire::Wire;

type Refused = Box<Response<Body>>;

impl Post {
    /// The session that a message belongs to.
    pub(super) fn session(&self, version: &Version) -> Result<Arc<HttpSession>, Refused> {
        check_version(&self.table.serving.revisions, version)?;
        let Ok(Some(id)) = single(&self.head, &name::SESSION_ID) else {
            return Err(no_session(
                StatusCode::BAD_REQUEST,
                "send \"initialize\" first, then its Mcp-Session-Id",
            ));
        };
        self.table
            .session(id, &self.principal)
            .ok_or_else(|| no_session(StatusCode::NOT_FOUND, "there is no such session; initialize again"))
    }

    pub(super) fn legacy_request(
        self,
        request: &Request<'_>,
        frame: &Bytes,
        version: &Version,
    ) -> Result<Answering, Refused> {
        if Method::parse(&request.method) == Some(Method::Initialize) {
            return Err(Box::new(self.initialize(request, version)));
        }
        if self.stateless {
            return self.stateless_request(request, frame, version);
        }
        let session = self.session(version)?;
        let lodger = Lodger::Session(Arc::clone(&session));
        let rules = lodger.rules();
        let admitted = lodger.admit(request);
        let refuse = |error: ErrorObject| Box::new(refuse(rules, &request.id, &error));
        let exchange = match admitted.map_err(refuse)? {
            Admitted::Exchange(exchange) => exchange,
            _ => return Err(Box::new(pong(&request.id))),
        };
        let wire = Wire::new(&self.table.serving.policy, Some(Arc::clone(&session.talk)));
        let run = self.run(exchange, request, frame, &wire).map_err(refuse)?;
        Ok(self.in_session(session, wire, Work::One { run, entered: false }))
    }

    fn in_session(self, session: Arc<HttpSession>, wire: Arc<Wire>, work: Work) -> Answering {
        Answering {
            cancelled_by_leaving: false,
            work: Some(work),
            wire,
            table: self.table,
            principal: self.principal,
            _busy: Some(session.busy()),
            session: Some(session),
            stream: None,
            permit: Some(self.permit),
        }
    }

    /// A request that has to bring everything itself, and brings little.
    fn stateless_request(
        self,
        request: &Request<'_>,
        frame: &Bytes,
        version: &Version,
    ) -> Result<Answering, Refused> {
        let serving = &self.table.serving;
        check_version(&serving.revisions, version)?;
        let session = self.table.stranger(version.revision());
        let rules = session.rules();
        let refuse = |error: ErrorObject| Box::new(refuse(rules, &request.id, &error));
        let exchange = match engine::Session::admit(Some(&session), request).map_err(refuse)? {
            Admitted::Exchange(exchange) => exchange,
            _ => return Err(Box::new(pong(&request.id))),
        };
        let wire = Wire::new(&serving.policy, None);
        let run = self.run(exchange, request, frame, &wire).map_err(refuse)?;
        Ok(self.alone(Work::One { run, entered: false }, wire, rules.disconnect_cancels))
    }

    fn initialize(self, request: &Request<'_>, version: &Version) -> Response<Body> {
        let refuse =
            |error: &ErrorObject| reply::error(StatusCode::BAD_REQUEST, Some(&request.id), false, error);
        if let Err(refused) = check_version(&self.table.serving.revisions, version) {
            return *refused;
        }
        if !self.stateless
            && let Ok(Some(id)) = single(&self.head, &name::SESSION_ID)
            && self.table.session(id, &self.principal).is_some()
        {
            return refuse(&ErrorObject::invalid_request("this session is already initialized"));
        }
        let limit = self.table.serving.policy.peer_bytes;
        if request.params.is_some_and(|params| params.len() > limit) {
            return refuse(&ErrorObject::invalid_params(format!("a handshake is limited to {limit} bytes")));
        }
        let params = match engine::Session::admit(None, request) {
            Ok(Admitted::Initialize(params)) => *params,
            Ok(_) => return refuse(&ErrorObject::invalid_request("not a handshake")),
            Err(error) => return refuse(&error),
        };
        let opened = match self.table.serving.open_session(params) {
            Ok(opened) => opened,
            Err(error) => return refuse(&error),
        };
        let mut line = Vec::new();
        drop(json_rpc::result_line(&request.id, &opened.result, &mut line));
        let mut response = reply::json(StatusCode::OK, line);
        if self.stateless {
            return response;
        }
        let Ok(id) = fresh_id() else {
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "no session can be opened now");
        };
        let Ok(value) = HeaderValue::from_str(&id) else {
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "no session can be opened now");
        };
        let place = match self.table.place(&self.principal) {
            Ok(place) => (place, self.table.began),
            Err(full) => return full.refusal(),
        };
        let serving = &self.table.serving;
        let opened = (opened.session, opened.declared);
        self.table.enter(&HttpSession::new(id.into(), self.principal.identity(), opened, serving, place));
        response.headers_mut().insert(name::SESSION_ID, value);
        response
    }

    /// Notifications and answers: taken, or refused by status.
    pub(super) fn legacy_other(self, message: Message<'_>, version: &Version) -> Response<Body> {
        if let Version::Known(revision) = version
            && revision.is_modern()
        {
            if let Err(refused) = check_version(&self.table.serving.revisions, version) {
                return *refused;
            }
            return match message {
                // Nothing that a modern client could tell is of any consequence: it cancels by going away.
                Message::Notification(_) => reply::accepted(),
                _ => *no_session(StatusCode::BAD_REQUEST, "nothing was asked that this could answer"),
            };
        }
        if self.stateless {
            return check_version(&self.table.serving.revisions, version)
                .map_or_else(|refused| *refused, |()| reply::accepted());
        }
        let session = match self.session(version) {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        self.take(&session, message);
        reply::accepted()
    }

    fn take(&self, session: &Arc<HttpSession>, message: Message<'_>) {
        match message {
            Message::Notification(notification) => self.notified(session, &notification),
            Message::Response(Answer { id: Some(id), outcome }) => drop(session.talk.settle(&id, outcome)),
            Message::Response(_) => tracing::warn!("the client could not read a message of ours"),
            Message::Request(_) => {}
        }
    }

    fn notified(&self, session: &Arc<HttpSession>, notification: &Notification<'_>) {
        let serving = &self.table.serving;
        match Method::parse(&notification.method) {
            Some(Method::Cancelled) => {
                let params =
                    notification.params.and_then(|text| serde_json::from_str::<CancelledParams>(text).ok());
                if let Some((id, params)) =
                    params.and_then(|params| Some((params.request_id.clone()?, params)))
                {
                    session.lock().ledger.cancel(&id, params);
                }
            }
            Some(Method::Initialized) => {
                if session.lock().session.initialized() {
                    session.changed.store(true, Ordering::Release);
                    session.talk.may_request();
                    session.run_hook(Occasion::Initialized, serving);
                }
            }
            Some(Method::RootsListChanged) => {
                session.talk.forget_roots();
                if session.lock().session.is_ready() {
                    session.run_hook(Occasion::RootsChanged, serving);
                }
            }
            _ => tracing::debug!("a notification that means nothing here"),
        }
    }

    pub(super) fn legacy_batch(
        self,
        items: &[&str],
        frame: &Bytes,
        version: &Version,
    ) -> Result<Answering, Refused> {
        let serving = &self.table.serving;
        let lodger = if self.stateless {
            check_version(&serving.revisions, version)?;
            Lodger::Stranger(self.table.stranger(version.revision()))
        } else {
            Lodger::Session(self.session(version)?)
        };
        let rules = lodger.rules();
        let invalid = |why: &str| {
            let null_id = rules.error_id == ErrorId::Null;
            Box::new(reply::error(StatusCode::BAD_REQUEST, None, null_id, &ErrorObject::invalid_request(why)))
        };
        if !rules.has_batches {
            return Err(invalid("this revision has no batches"));
        }
        if items.is_empty() {
            return Err(invalid("a batch without messages"));
        }
        let wire = Wire::new(&serving.policy, lodger.session().map(|session| Arc::clone(&session.talk)));
        let mut batch = Batch::default();
        let mut decoder = Decoder::new(serving.policy.limits);
        for item in items {
            match decoder.message(item) {
                Ok(Message::Request(request)) => self.batched(&lodger, &request, frame, &wire, &mut batch),
                Ok(message) => {
                    if let Some(session) = lodger.session() {
                        self.take(session, message);
                    }
                }
                Err(refusal) if refusal.is_notification => {}
                Err(refusal) => batch.answer(|line| {
                    json_rpc::error_line(refusal.id.as_ref(), true, &refusal.error, line);
                }),
            }
        }
        if batch.is_silent() {
            return Err(Box::new(reply::accepted()));
        }
        let work = Work::Batch(Box::new(batch));
        Ok(match lodger {
            Lodger::Session(session) => self.in_session(session, wire, work),
            Lodger::Stranger(_) => self.alone(work, wire, rules.disconnect_cancels),
        })
    }

    fn batched(
        &self,
        lodger: &Lodger,
        request: &Request<'_>,
        frame: &Bytes,
        wire: &Arc<Wire>,
        batch: &mut Batch,
    ) {
        match self.begin_batched(lodger, request, frame, wire, batch.bytes()) {
            Ok(Some(run)) => batch.run(lodger.session(), run),
            Ok(None) => batch.answer(|line| {
                drop(json_rpc::result_line(&request.id, &serde_json::Map::new(), line));
            }),
            Err(error) => batch.answer(|line| json_rpc::error_line(Some(&request.id), false, &error, line)),
        }
    }

    fn begin_batched(
        &self,
        lodger: &Lodger,
        request: &Request<'_>,
        frame: &Bytes,
        wire: &Arc<Wire>,
        waiting: usize,
    ) -> Result<Option<Run>, ErrorObject> {
        if Method::parse(&request.method) == Some(Method::Initialize) {
            return Err(ErrorObject::invalid_request("initialize must not be part of a batch"));
        }
        if waiting >= self.table.serving.policy.unsent_bytes {
            return Err(ErrorObject::new(engine::BUSY, "too much waits for the rest of its batch"));
        }
        match lodger.admit(request)? {
            Admitted::Exchange(exchange) => self.run(exchange, request, frame, wire).map(Some),
            _ => Ok(None),
        }
    }
}

/// Whom a legacy message comes from.
enum Lodger {
    Session(Arc<HttpSession>),
    /// Somebody who has no session and about whom nothing is known.
    Stranger(Arc<engine::Session>),
}

impl Lodger {
    fn session(&self) -> Option<&Arc<HttpSession>> {
        match self {
            Self::Session(session) => Some(session),
            Self::Stranger(_) => None,
        }
    }

    fn rules(&self) -> &'static Rules {
        match self {
            Self::Session(session) => session.lock().session.rules(),
            Self::Stranger(session) => session.rules(),
        }
    }

    fn admit(&self, request: &Request<'_>) -> Result<Admitted, ErrorObject> {
        match self {
            Self::Stranger(session) => engine::Session::admit(Some(session), request),
            Self::Session(session) => {
                let mut inner = session.lock();
                let admitted = engine::Session::admit(Some(&inner.session), request)?;
                if let Admitted::Exchange(exchange) = &admitted {
                    inner.ledger.admit(exchange, || session.general.now())?;
                }
                Ok(admitted)
            }
        }
    }
}

/// The version header names a revision that is spoken here, or is not there.
pub(super) fn check_version(spoken: &[Revision], version: &Version) -> Result<(), Refused> {
    let unsupported = |named: &str| {
        let supported: Vec<_> = spoken.iter().map(|revision| revision.as_str()).collect();
        let error = ErrorObject::unsupported_version(named, &supported);
        Box::new(reply::error(StatusCode::BAD_REQUEST, None, false, &error))
    };
    match version {
        Version::Absent => Ok(()),
        Version::Known(revision) if spoken.contains(revision) => Ok(()),
        Version::Known(revision) => Err(unsupported(revision.as_str())),
        Version::Unknown(text) => Err(unsupported(text)),
    }
}

pub(super) fn no_session(status: StatusCode, why: &str) -> Refused {
    Box::new(reply::error(status, None, false, &ErrorObject::invalid_request(why)))
}

fn pong(id: &RequestId) -> Response<Body> {
    let mut line = Vec::new();
    drop(json_rpc::result_line(id, &serde_json::Map::new(), &mut line));
    reply::json(StatusCode::OK, line)
}
