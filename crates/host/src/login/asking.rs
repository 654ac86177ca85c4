//! Asking a person to log in, through the client that they use.
//!
//! A client that can is asked to have them visit a URL; with one that cannot, the browser of this machine is opened if the
//! person sits here, and else the answer is an error that has the URL in it. Nobody waits for a person without end: a call
//! whose login is not done in time fails, and says so; the link stays good for a while.

use std::sync::Arc;
use std::time::Duration;

use contexture::auth::{Authorization, Browser};
use contexture::model::{
    ElicitAction, ElicitParams, ElicitResult, ElicitUrlParams, ErrorObject, InputRequest, UrlMode,
};
use contexture::{Context, Error, Principal, Scopes};
use tokio::sync::watch;

use super::html::without_query;
use super::passage::Trip;
use super::pending::{Ending, Link, Pending, Standing, Target, Want, Wanted, filed, unguessable};
use super::person::{Caller, shown};
use super::{Logins, Way, Web, is_somebody, said, target};
use crate::config::ServerEntry;

/// How long a call waits for a person who has said that they log in.
const WAIT: Duration = Duration::from_secs(45);
/// What is said when a person does not want to.
const DENIED: &str = "wants a login, and the person said no";
/// How long an authorization server may take to be found.
const FINDING: Duration = Duration::from_secs(30);

impl Logins {
    /// Asks the person whose call it is to log in to a server, or to agree that this client uses their login, and waits a
    /// while. When it returns, the call can be made again, once. In the modern era the handler is run again meanwhile.
    ///
    /// # Errors
    /// What the call is to be answered with.
    pub async fn needed(
        self: &Arc<Self>,
        entry: &ServerEntry,
        context: &Context,
        wanted: &Wanted,
    ) -> Result<(), ErrorObject> {
        let name = shown(&entry.name);
        let Some((target, is_shared)) = target(entry) else {
            return Err(refused(&name, "wants a login, and is configured without one (\"login\")"));
        };
        let key = wanted.0.key(&entry.name);
        if let Some(id) = context.recall::<String>(&key) {
            // Asked in an earlier round; it may have ended before the call came back.
            let standing = self.table().standing(&id);
            match standing {
                Some(Standing::Open) => {}
                Some(Standing::In) => return Ok(()),
                Some(Standing::Denied) => return Err(refused(&name, DENIED)),
                Some(Standing::Failed(why)) => {
                    return Err(refused(&name, &format!("wants a login, which did not work: {why}")));
                }
                None => {
                    return Err(refused(
                        &name,
                        "wants a login, and the one that was begun took too long: try again",
                    ));
                }
            }
        }
        let person = context.principal().identity();
        let is_local = matches!(self.way, Way::Here) && person == Principal::local();
        if is_shared && !is_local {
            // Whoever calls need not know the rest of it.
            let how = format!("contexture login {}", without_query(&target.url));
            return Err(refused(
                &name,
                &format!("wants a login, which whoever runs this gateway does with: {how}"),
            ));
        }
        let link = match &self.way {
            Way::Here if is_local => self.begin_here(target, person, context, &wanted.0).await?,
            Way::Web(web) if is_somebody(&person) => self.begin(web, target, person, context, &wanted.0)?,
            Way::Here | Way::Web(_) => {
                return Err(refused(
                    &name,
                    "wants a login of yours, and this gateway does not know who you are: it must be protected, or the \
                     server be configured with a login that all share (\"login\": \"shared\")",
                ));
            }
        };
        context.keep(&key, &link.id).map_err(|error| refused(&name, &error.to_string()))?;
        match ask(context, &key, &name, &link).await {
            Ok(()) => wait(&name, link).await,
            Err(Error::Unsupported(_)) if is_local && Browser::new().open(&link.url).is_ok() => {
                wait(&name, link).await
            }
            Err(Error::Unsupported(_)) => Err(visit(&name, &link, "visit the page first, then try again")),
            Err(Error::Declined | Error::Dismissed) => {
                Err(refused(&name, "wants a login, and the person did not want to log in"))
            }
            Err(error) => Err(refused(&name, &format!("wants a login, and nobody could be asked: {error}"))),
        }
    }

    /// A link to our own page.
    fn begin(
        &self,
        web: &Web,
        target: Target,
        person: Principal,
        context: &Context,
        want: &Want,
    ) -> Result<Link, ErrorObject> {
        let caller = Caller::of(context);
        let mut table = self.table();
        if let Some(pending) = table.same(&target, &person, &caller, want) {
            return Ok(again(pending, context));
        }
        let Some((_, origin)) = web.reached_at.get() else {
            return Err(refused(
                &target.name,
                "wants a login, and the gateway was not told where browsers reach it",
            ));
        };
        let (Some(secret), Some(id)) = (unguessable(), unguessable()) else { return Err(no_randomness()) };
        let url = format!("{origin}{}/{secret}", super::pages::PATH);
        let mut pending = Pending::new(target, person, caller, want.clone(), url, id[..32].to_owned());
        pending.session = context.session();
        let link = pending.link();
        if table.add(filed(&secret), pending) {
            return Ok(link);
        }
        Err(ErrorObject::internal(
            "too many people are logging in at this moment: try again in a few minutes",
        ))
    }

    /// A link to the authorization server itself: there is nobody here but the person who started us.
    async fn begin_here(
        self: &Arc<Self>,
        target: Target,
        person: Principal,
        context: &Context,
        want: &Want,
    ) -> Result<Link, ErrorObject> {
        let caller = Caller::of(context);
        let _one = self.beginning.lock().await;
        if let Some(pending) = self.table().same(&target, &person, &caller, want) {
            return Ok(again(pending, context));
        }
        let (Some(secret), Some(id)) = (unguessable(), unguessable()) else { return Err(no_randomness()) };
        let none = Scopes::none();
        let scopes = if let Want::Login(scopes) = want { scopes } else { &none };
        let (trip, departures) = Trip::new(target.login.callback_port);
        let authorization =
            said(Authorization::visitor(trip), &target.login, scopes).store(Arc::clone(&self.own));
        let (logins, name, server) = (Arc::clone(self), filed(&secret), target.url.clone());
        let (failed, failure) = watch::channel(None);
        let task = tokio::spawn(async move {
            let standing = match authorization.login(&server).await {
                Ok(_) => Standing::In,
                Err(error) => {
                    failed.send_replace(Some(error.to_string()));
                    Standing::Failed(error.to_string())
                }
            };
            logins.finish(&name, standing);
        });
        let ending = Ending::of(&task);
        let Ok(Ok(url)) = tokio::time::timeout(FINDING, departures).await else {
            let why =
                failure.borrow().clone().unwrap_or_else(|| "its authorization server takes too long".into());
            return Err(refused(&shown(&target.name), &format!("wants a login: {why}")));
        };
        let mut pending = Pending::new(target, person, caller, want.clone(), url, id[..32].to_owned());
        pending.session = context.session();
        pending.listening = Some(ending);
        let link = pending.link();
        self.table().add(name, pending);
        Ok(link)
    }
}

/// The link that somebody was given before.
fn again(pending: &mut Pending, context: &Context) -> Link {
    pending.session = context.session().or(pending.session.take());
    // What went wrong before was said then.
    pending.standing.send_replace(Standing::Open);
    pending.link()
}

/// Has the person visit the page; returning means that they agreed to.
async fn ask(context: &Context, key: &str, name: &str, link: &Link) -> Result<(), Error> {
    let request = InputRequest::Elicit(ElicitParams::Url(elicitation(name, link)));
    let answer = context.pass_on(key, request).await?;
    let answer: ElicitResult = serde_json::from_value(answer)
        .map_err(|error| Error::PeerMisbehaved(format!("its answer: {error}")))?;
    match answer.action {
        ElicitAction::Accept => Ok(()),
        ElicitAction::Decline => Err(Error::Declined),
        ElicitAction::Cancel => Err(Error::Dismissed),
    }
}

fn elicitation(name: &str, link: &Link) -> ElicitUrlParams {
    ElicitUrlParams {
        mode: UrlMode::Url,
        message: format!("{name} wants you to log in. You are sent to a page that does it."),
        url: link.url.clone(),
        elicitation_id: Some(link.id.clone()),
        task: None,
        meta: None,
    }
}

/// Until the person is in, or a while.
async fn wait(name: &str, mut link: Link) -> Result<(), ErrorObject> {
    // Too late, or pushed out by others: it is as open as before.
    let _ = tokio::time::timeout(WAIT, link.standing.wait_for(|now| *now != Standing::Open)).await;
    let standing = link.standing.borrow().clone();
    match standing {
        Standing::In => Ok(()),
        Standing::Open => {
            Err(visit(name, &link, "you are not logged in yet: finish at the page, then try again"))
        }
        Standing::Failed(why) => Err(visit(name, &link, &format!("the login did not work: {why}"))),
        Standing::Denied => Err(refused(name, DENIED)),
    }
}

/// An error that says where to go.
fn visit(name: &str, link: &Link, what: &str) -> ErrorObject {
    let mut error = ErrorObject::url_elicitation_required(&[elicitation(name, link)]);
    error.message = format!("{name} wants a login; {what}: {}", link.url);
    error
}

fn refused(name: &str, why: &str) -> ErrorObject {
    ErrorObject::internal(format!("the server {name} {why}"))
}

fn no_randomness() -> ErrorObject {
    ErrorObject::internal("this machine gives no random numbers: try again later")
}
