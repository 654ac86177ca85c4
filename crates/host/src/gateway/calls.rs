//! One call on its way to a server: whether it may be made, and what came of it.
//!
//! What consent sees is what is sent: the server's own name for the thing, and the arguments as they came. A call is made
//! again only if the server has certainly not had it, or if it changes nothing; a tool's call never otherwise.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use contexture::Error;
use contexture::client::{Client, Forward, Forwarded};
use contexture::model::{CallToolResult, ErrorObject, Meta, Method, code, key};
use contexture::server::{Context, OperationResult, Reply};
use serde::Deserialize;

use super::asks::Way;
use super::faults::{self, Fault};
use super::targets::Target;
use super::{Gateway, outward};
use crate::config::TransportSpec;
use crate::consent::{Asking, Outcome, Record};
use crate::login;
use crate::operations::{self, Seen, UpstreamCall};
use crate::upstream::{Audience, LONGEST_CALL, Lease, Unavailable, Voice};

/// Under which is kept what an earlier round was let through for.
pub(super) const BEGUN: &str = "begun";

/// A call at work.
pub(super) struct Call<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) seen: &'a Seen,
    pub(super) context: &'a Context,
    pub(super) target: &'a Target,
    pub(super) who: Audience,
    pub(super) trace: Option<String>,
}

impl Call<'_> {
    pub(super) async fn run(&self) -> OperationResult {
        let entry = self.target.entry();
        let _admission = self.gateway.consent.admit(self.context.principal(), &entry.name)?;
        let asking = self.asking();
        let begun = self.was_begun();
        if begun && self.context.recall(BEGUN) != Some(self.what()) {
            let why = "what this call is for has changed since it was begun: make it anew";
            return Err(ErrorObject::invalid_params(why));
        }
        if !begun
            && let Err(error) =
                Way::Call(self.context).permitted(self.gateway, "call: consent", &asking).await
        {
            self.seen.denied();
            return Err(error);
        }
        let mut recorded = Recorded { call: self, began: Instant::now(), outcome: None };
        let outcome = self.exchange().await;
        recorded.outcome = Some(match &outcome {
            Ok(forwarded) if self.is_tool_error(&forwarded.result) => Outcome::ToolError,
            Ok(_) => Outcome::Done,
            Err(fault) => fault.audit,
        });
        drop(recorded);
        let Forwarded { revision, result, .. } = match outcome {
            Ok(forwarded) => forwarded,
            // Its era has no word for this but a tool's own.
            Err(fault) if self.lacks_a_word_for(&fault.error) => {
                return Ok(Reply::Tool(CallToolResult::error(fault.error.message)));
            }
            Err(fault) => return Err(fault.error),
        };
        let slug = self.target.served().slug.as_deref();
        Ok(Reply::Forwarded { result: outward(slug, self.target.method, result), from: revision })
    }

    fn asking(&self) -> Asking<'_> {
        self.target.asking(self.context.principal(), self.trace.as_deref())
    }

    /// Servers of ours tell a gateway that its client cannot do what a tool needs as the modern era does.
    fn lacks_a_word_for(&self, error: &ErrorObject) -> bool {
        self.target.method == Method::ToolsCall
            && error.code == code::MISSING_REQUIRED_CLIENT_CAPABILITY
            && self.context.revision().rules().has_server_requests
    }

    /// An earlier round of this call was let through and reached its server.
    fn was_begun(&self) -> bool {
        self.context.recall::<serde::de::IgnoredAny>(super::rounds::ROUND).is_some()
            || self.context.recall::<String>(super::parked::HANDLE).is_some()
    }

    /// What is called: whose it is, and its definition. Consent was about that, and a name may come to mean another.
    pub(super) fn what(&self) -> (String, [u8; 32]) {
        (self.target.entry().name.clone(), self.target.pin)
    }

    /// Until there is an answer, or none to be had.
    async fn exchange(&self) -> Result<Forwarded, Fault> {
        if let Some(handle) = self.context.recall::<String>(super::parked::HANDLE) {
            return self.resume(&handle).await;
        }
        let mut logs_in = true;
        let mut again = true;
        loop {
            self.may_use_login(&mut logs_in).await?;
            let lease = match self.lease(logs_in).await {
                Ok(lease) => lease,
                Err(unavailable) => match login_wanted(&unavailable).filter(|_| std::mem::take(&mut logs_in))
                {
                    Some(wanted) => {
                        self.log_in(&wanted).await?;
                        continue;
                    }
                    None => return Err(faults::unavailable(&unavailable)),
                },
            };
            let failure = match self.attempt(lease).await {
                Ok(forwarded) => return Ok(forwarded),
                Err(Failure::Told(fault)) => return Err(fault),
                Err(Failure::Of(error)) => error,
            };
            if let Some(wanted) = login::wanted(&failure).filter(|_| std::mem::take(&mut logs_in)) {
                self.log_in(&wanted).await?;
                continue;
            }
            if self.may_be_made_again(&failure) && std::mem::take(&mut again) {
                continue;
            }
            return Err(self.fault(failure));
        }
    }

    /// A connection of whoever calls. They may have logged in since it was found out who they are to this server.
    async fn lease(&self, as_before: bool) -> Result<Lease, Unavailable> {
        let upstream = self.target.upstream();
        if as_before {
            return upstream.lease(&self.who).await;
        }
        let logins = self.gateway.logins_of(self.context.principal()).await;
        let personal = logins.contains(&upstream.entry().name);
        upstream.lease(&self.gateway.audience(self.context, upstream.entry(), personal)).await
    }

    async fn attempt(&self, lease: Lease) -> Result<Forwarded, Failure> {
        match asks_in_place(lease.client()) {
            true => self.in_place(lease).await,
            false => self.in_rounds(lease).await,
        }
    }

    /// Where the server has certainly not had it, or would not mind.
    fn may_be_made_again(&self, failure: &Error) -> bool {
        match failure {
            Error::Closed(_) | Error::Transport(_) | Error::SessionEnded => true,
            Error::Interrupted(_) => self.target.is_harmless() && !self.was_begun(),
            _ => false,
        }
    }

    /// Whether this client may use the login that this person has at the server.
    async fn may_use_login(&self, logs_in: &mut bool) -> Result<(), Fault> {
        let entry = self.target.entry();
        let (Some(logins), TransportSpec::Http { .. }) = (&self.gateway.logins, &entry.transport) else {
            return Ok(());
        };
        match logins.permits(entry, self.context.principal()).await {
            Err(wanted) if std::mem::take(logs_in) => self.log_in(&wanted).await,
            Err(_) => Err(faults::denied(entry, "this client may not use your login there".into()).into()),
            Ok(()) => Ok(()),
        }
    }

    async fn log_in(&self, wanted: &login::Wanted) -> Result<(), Fault> {
        let entry = self.target.entry();
        let Some(logins) = &self.gateway.logins else {
            let why = format!("the server {:?} wants a login, and nobody here can log in", entry.name);
            return Err(ErrorObject::internal(why).into());
        };
        Ok(logins.needed(entry, self.context, wanted).await?)
    }

    /// The request, as it is passed on.
    pub(super) fn forward(&self, lease: &Lease, call: &UpstreamCall, voice: Option<&Arc<Voice>>) -> Forward {
        let mut meta = self.meta();
        call.carry(&mut meta);
        let client = lease.client();
        let mut forward = client
            .forward(self.target.method, Some(&self.target.params))
            .meta(meta)
            .timeout(self.target.entry().call_time)
            .max_time(LONGEST_CALL);
        if let Some(voice) = voice.filter(|_| self.context.wants_progress()) {
            let voice = Arc::clone(voice);
            forward = forward.on_progress(move |progress| voice.progress(&progress));
        }
        if !asks_in_place(client) {
            forward = forward.capabilities(self.who.declares().shared());
        }
        if let (Some(level), Some(voice), true) = (self.context.log_level(), voice, lease.logs()) {
            let voice = Arc::clone(voice);
            forward = forward.log_level(level).on_log(move |message| voice.log(message));
            if lease.is_alone() {
                forward = forward.alone();
            }
        }
        forward
    }

    /// What the client said beside its request, without what only concerns the two of us.
    fn meta(&self) -> Meta {
        const OURS: [&str; 5] = [
            key::PROGRESS_TOKEN,
            key::PROTOCOL_VERSION,
            key::CLIENT_CAPABILITIES,
            key::CLIENT_INFO,
            key::LOG_LEVEL,
        ];
        self.context.meta_without(&OURS)
    }

    /// One exchange with the server, counted.
    pub(super) fn counted(&self) -> UpstreamCall {
        self.seen.upstream(&self.target.entry().name, self.target.method, Some(&self.target.original))
    }

    /// How it ended, for those who count.
    pub(super) fn count(call: UpstreamCall, outcome: &Result<Forwarded, Error>) {
        call.end(match outcome {
            Ok(forwarded) if forwarded.asked.is_some() => operations::Outcome::Asked,
            Ok(_) => operations::Outcome::Ok,
            Err(Error::Timeout(_)) => operations::Outcome::TimedOut,
            Err(Error::Closed(_) | Error::Transport(_) | Error::Interrupted(_)) => {
                operations::Outcome::Unavailable
            }
            Err(_) => operations::Outcome::Error,
        });
    }

    fn is_tool_error(&self, result: &Bytes) -> bool {
        #[derive(Deserialize)]
        struct Failed {
            #[serde(default, rename = "isError")]
            is_error: bool,
        }
        self.target.method == Method::ToolsCall
            && memchr::memmem::find(result, b"\"isError\"").is_some()
            && serde_json::from_slice::<Failed>(result).is_ok_and(|failed| failed.is_error)
    }
}

/// Why an attempt came to nothing: what the client is told, or what may be reason for another.
pub(super) enum Failure {
    Told(Fault),
    Of(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Of(error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Told(fault)
    }
}

impl From<ErrorObject> for Failure {
    fn from(error: ErrorObject) -> Self {
        Self::Told(error.into())
    }
}

/// Writes down how a call ended, also if nobody waited for it.
struct Recorded<'a> {
    call: &'a Call<'a>,
    began: Instant,
    outcome: Option<Outcome>,
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        // A call that asks its client something is dropped, too; it goes on in another exchange.
        let asks = self.call.context.is_replayed() && !self.call.context.is_cancelled();
        let outcome = self.outcome.or((!asks).then_some(Outcome::Cancelled));
        if let Some(outcome) = outcome {
            let asking = self.call.asking();
            self.call.gateway.consent.record(Record {
                asking: &asking,
                outcome,
                duration: self.began.elapsed(),
            });
        }
    }
}

/// Whether the server asks in the middle of a call, and not at the end of an exchange.
fn asks_in_place(client: &Client) -> bool {
    client.revision().rules().has_server_requests
}

pub(super) fn login_wanted(unavailable: &Unavailable) -> Option<login::Wanted> {
    unavailable.error.as_deref().and_then(login::wanted)
}
