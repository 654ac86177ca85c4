//! From a target on the command line to a connected client.
//!
//! A server is a command that is started, one that is reached by its URL, either as a configuration says, or the built-in
//! demo, served in this very process. Servers by URL are shown what an earlier login brought; a new one is begun only where
//! somebody is at a terminal.

use std::time::{Duration, Instant};

use contexture::auth::Authorization;
use contexture::client::{Builder, Target as Way};
use contexture::revision::Revision;
use contexture::transport::{ChildCommand, PersonTime, Stderr, Transport, memory};
use contexture::{Client, Error, Policy};
use contexture_host::config::{Login, Sources, TransportSpec, load};
use contexture_host::sampling::Models;

use crate::demo;
use crate::events::Aside;
use crate::exit::Failure;
use crate::nearest;
use crate::options::Target;
use crate::place::Place;
use crate::tape::taped;
use crate::terminal::note;
use crate::terminal::person::{self, Asking, Presence};
use crate::terminal::sampling::{Answerer, sampling};
use crate::terminal::text::safe_line;
use crate::trace;
use crate::transcript::Recorder;
use crate::trip::{self, Trip};
use crate::{mock, recording};

/// How long the probe for the modern era may take at most.
const PROBE: Duration = Duration::from_secs(10);
/// How soon a clock that stands still for a login is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What a verb wants beside a connection.
#[derive(Debug)]
pub(crate) struct Manner {
    /// Where is told what the server says beside its answers.
    pub(crate) aside: Aside,
    /// The revisions to try.
    pub(crate) revisions: Vec<Revision>,
}

impl Manner {
    /// What is said beside the answers is told on standard error.
    pub(crate) fn plain(target: &Target) -> Self {
        Self { aside: Aside::Notes, revisions: target.revisions() }
    }

    /// With `-o ndjson` it is printed as events.
    pub(crate) fn with_events(target: &Target) -> Self {
        Self { aside: Aside::of(target.format), ..Self::plain(target) }
    }
}

/// Connects to the server, within the time that is given for it.
pub(crate) async fn connect(place: &Place, target: &Target) -> Result<Client, Failure> {
    connect_in(place, target, &Manner::plain(target)).await
}

/// The same, as a verb wants it.
pub(crate) async fn connect_in(place: &Place, target: &Target, manner: &Manner) -> Result<Client, Failure> {
    let person = PersonTime::new();
    let client = match target.timeout {
        Some(limit) => tokio::select! {
            biased;
            client = open(place, target, manner, &person) => client?,
            () = over(limit, &person) => return Err(Failure::connecting(&Error::Timeout(limit))),
        },
        None => open(place, target, manner, &person).await?,
    };
    if let Some(noise) = trace::noise() {
        note(&format!("contexture: warning: the server prints what is no message: {noise}"));
    }
    Ok(client)
}

/// Ready when so much time has passed that nobody was busy with a login.
async fn over(limit: Duration, person: &PersonTime) {
    let begun = Instant::now();
    loop {
        let left = (limit + person.spent()).saturating_sub(begun.elapsed());
        match person.is_asking() {
            true => tokio::time::sleep(LOOK_AGAIN).await,
            false if left.is_zero() => return,
            false => tokio::time::sleep(left).await,
        }
    }
}

/// What the person allows the server to cost and to ask.
fn prepare(
    target: &Target,
    manner: &Manner,
    person: &PersonTime,
    mut policy: Policy,
) -> Result<Builder, Failure> {
    let (presence, aside) = (Presence::of(target.no_input), manner.aside);
    let asking = Asking { presence, aside, time: person.clone() };
    let mut builder = Client::builder();
    if let Some(limit) = target.timeout {
        policy.patience.idle = limit;
        // Half of the time is left for servers that are silent because they are of the older era.
        builder = builder.probe_timeout(PROBE.min(limit / 2));
    }
    builder = builder
        .name("contexture", env!("CARGO_PKG_VERSION"))
        .policy(policy)
        .revisions(&manner.revisions)
        .person_time(person.clone())
        .elicitation(person::elicitation(asking.clone(), ""))
        .on_log(move |_, message| aside.log(message));
    if let Some(answerer) = answerer(target, presence)? {
        builder = builder.sampling(sampling(answerer, asking));
    }
    if !target.roots.is_empty() {
        builder = builder.roots(person::roots(&target.roots).map_err(Failure::usage)?);
    }
    Ok(builder)
}

/// Who answers in the place of a model. Without a terminal and without a word about it, nobody does, and servers know.
fn answerer(target: &Target, presence: Presence) -> Result<Option<Answerer>, Failure> {
    if let Some(text) = &target.sample {
        return Ok(Some(Answerer::Text(text.clone())));
    }
    let Some(name) = &target.provider else {
        return Ok((presence != Presence::Away).then_some(Answerer::Person));
    };
    let mut sources = Sources::of_process();
    sources.files.clone_from(&target.files);
    let mut config = load(&sources).map_err(|error| Failure::usage(error.to_string()))?.sampling;
    config.models.retain(|model| model.provider == *name);
    if config.models.is_empty() {
        let known = config.providers.keys().map(String::as_str);
        return Err(Failure::usage(format!("--provider: no model of {name:?} is configured in `sampling`"))
            .hint(nearest::proposal(name, known)));
    }
    Ok(Some(Answerer::Models(Models::new(&config).map_err(Failure::usage)?)))
}

/// How to say who asks: as an earlier login did, or by a new one.
fn authorization(place: &Place, target: &Target, person: &PersonTime) -> Authorization {
    if !person::is_there(target.no_input) {
        return Authorization::stored();
    }
    let login = place.login();
    let port = login.and_then(|login| login.callback_port);
    let trip = Trip::new(trip::Way::Browser, port, person.clone());
    known_to(Authorization::visitor(trip).client_name("contexture"), login)
}

/// With what the configuration knows about a login before it is tried.
pub(crate) fn known_to(authorization: Authorization, login: Option<&Login>) -> Authorization {
    let Some(login) = login else { return authorization };
    let authorization = authorization.scopes(login.scopes.iter().cloned());
    let authorization =
        login.client_id.iter().fold(authorization, |authorization, id| authorization.client_id(id));
    login
        .client_secret
        .iter()
        .fold(authorization, |authorization, secret| authorization.client_secret(secret.clone()))
}

async fn open(
    place: &Place,
    target: &Target,
    manner: &Manner,
    person: &PersonTime,
) -> Result<Client, Failure> {
    let mut builder = prepare(target, manner, person, Policy::default())?;
    let recorder = recording::begin(place, target, target.record.as_deref())?;
    if let Some(recorder) = recorder.clone() {
        builder = builder.tap(move || recorder.tap());
    }
    let (builder, way) = way(builder, place, target, person, recorder.as_ref())?;
    let client = builder.connect(way).await.map_err(|error| Failure::connecting(&error))?;
    if let Some(level) = target.log {
        client.set_log_level(level).await?;
    }
    Ok(client)
}

/// The way to the server alone, for those who say themselves what is said. Over HTTP, `older` is HTTP+SSE.
pub(crate) async fn bare(
    place: &Place,
    target: &Target,
    recorder: Option<&Recorder>,
    older: bool,
) -> Result<Box<dyn Transport>, Failure> {
    let person = PersonTime::new();
    let builder = prepare(target, &Manner::plain(target), &person, Policy::default())?;
    let (builder, way) = way(builder, place, target, &person, recorder)?;
    builder.open(way, older).await.map_err(|error| Failure::connecting(&error))
}

/// How the server is reached, and what it is to know of us.
fn way(
    builder: Builder,
    place: &Place,
    target: &Target,
    person: &PersonTime,
    recorder: Option<&Recorder>,
) -> Result<(Builder, Way), Failure> {
    Ok(match place {
        Place::Url(url) => (builder_at(builder, place, target, person), url.as_str().into()),
        Place::Command(command) => {
            let command = ChildCommand::new(&command[0]).args(&command[1..]);
            (builder, environment(command, target, recorder).into())
        }
        Place::Configured(entry) => match &entry.transport {
            TransportSpec::Http { url, headers, sse, socket } => {
                let mut builder =
                    headers.iter().fold(builder.server_name(&entry.name), |builder, (name, value)| {
                        builder.header(name, value.expose())
                    });
                if *sse {
                    builder = builder.revisions(&target.revisions_over_sse());
                }
                if let Some(socket) = socket {
                    builder = builder.unix_socket(socket);
                }
                (builder_at(builder, place, target, person), url.as_str().into())
            }
            TransportSpec::Stdio { command, args, env, cwd } => {
                let command = ChildCommand::new(command).args(args);
                let command =
                    env.iter().fold(command, |command, (name, value)| command.env(name, value.expose()));
                let command = cwd.iter().fold(command, |command, folder| command.current_dir(folder));
                (builder.server_name(&entry.name), environment(command, target, recorder).into())
            }
        },
        Place::Demo => {
            let (ours, theirs) = memory(Policy::default().line_bytes);
            tokio::spawn(
                demo::server(demo::Options { is_guest: true, ..demo::Options::default() }).serve(theirs),
            );
            (builder, taped(ours).into())
        }
        Place::Transcript(path) => {
            let (ours, theirs) = memory(Policy::default().line_bytes);
            tokio::spawn(mock::serve(mock::Book::open(path)?, theirs));
            (builder, ours.into())
        }
    })
}

/// With the person's own headers, and a login where these say nothing about who asks.
fn builder_at(builder: Builder, place: &Place, target: &Target, person: &PersonTime) -> Builder {
    let builder = target.headers.iter().fold(builder, |builder, (name, value)| builder.header(name, value));
    if target.has_credentials() || place.has_credentials() {
        return builder;
    }
    builder.authorization(authorization(place, target, person))
}

/// With the variables that the person names; what it writes to standard error is kept by whoever records.
pub(crate) fn environment(
    command: ChildCommand,
    target: &Target,
    recorder: Option<&Recorder>,
) -> ChildCommand {
    let command = target.env.iter().fold(command, |command, variable| match variable.split_once('=') {
        Some((name, value)) => command.env(name, value),
        None => command.inherit_env(variable),
    });
    if !target.verbose && recorder.is_none() {
        return command;
    }
    let (verbose, recorder) = (target.verbose, recorder.cloned());
    command.stderr(Stderr::lines(move |line| {
        if verbose {
            note(&safe_line(line));
        }
        if let Some(recorder) = &recorder {
            recorder.stderr(line);
        }
    }))
}
