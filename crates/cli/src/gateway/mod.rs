//! A host with a server face, from the command line: how clients reach it, and how it ends.
//!
//! Told to end, it takes nothing new, finishes what it has begun for as long as the grace lasts, ends the servers behind it and
//! goes with 0. Told twice, it goes at once.

mod address;
pub(crate) mod entry;

use std::path::Path;
use std::sync::Arc;

use contexture::Policy;
use contexture::auth::{Protection, Secret, default_store};
use contexture::server::HttpServer;
use contexture::server::http::Bound;
use contexture::transport::StdioTransport;
use contexture_host::config::Config;
use contexture_host::consent::Person;
use contexture_host::login::{Doorkeeper, Logins};
use contexture_host::operations::{Doors, Metrics, Settings, Tracer};
use contexture_host::{Host, Services};

use crate::exit::Failure;
use crate::options::Face;
use crate::terminal::note;
use crate::terminal::text::safe_line;
use crate::verbs::{SECRET, Told};

/// What is served, beside how.
pub(crate) struct Gateway<'a> {
    pub(crate) face: &'a Face,
    /// Where answers, logins and whom people trust are remembered.
    pub(crate) state: &'a Path,
    pub(crate) person: Option<Arc<dyn Person>>,
}

impl Gateway<'_> {
    /// Serves until it is told to end. `meanwhile` goes on beside it: what watches the configuration, and what is told to
    /// people once it is known where we are.
    pub(crate) async fn serve<F>(
        self,
        config: Config,
        meanwhile: impl FnOnce(Arc<Host>, Option<String>) -> F,
    ) -> Result<(), Failure>
    where
        F: Future<Output = ()>,
    {
        if let Some(address) = &self.face.listen
            && self.face.protect.is_none()
            && !self.face.allow_anonymous
        {
            address::must_be_this_machine(address).await?;
        }
        let told = Told::listen();
        let metrics = Arc::new(Metrics::with_tracer(tracer()?));
        let protection = self.face.protect.as_deref().map(|issuer| self.protection(issuer)).transpose()?;
        let logins = match &protection {
            Some((_, logins)) => Arc::clone(logins),
            None => Logins::on_this_machine(default_store()?),
        };
        let services = Services {
            person: self.person.clone(),
            login: Some(Arc::clone(&logins)),
            metrics: Arc::clone(&metrics),
            state: Some(self.state.to_owned()),
        };
        let host = tokio::select! {
            biased;
            () = told.times(1) => return Err(Failure::interrupted()),
            host = Host::start(config, services) => host.map_err(Failure::usage)?,
        };
        let ended = match &self.face.listen {
            None => self.over_stdio(&host, &metrics, &told, meanwhile).await?,
            Some(address) => {
                let protection = protection.map(|(protection, _)| protection);
                let http = self.named(host.server().into_http()?, address).await?;
                let http = self.http(http, &metrics, &logins, protection);
                let bound = self.bound(http, address, &metrics, &logins).await?;
                self.over_http(bound, &host, &metrics, &told, meanwhile).await
            }
        };
        let Ended::InOrder(served) = ended else { return Err(Failure::interrupted()) };
        tokio::select! {
            biased;
            () = told.times(2) => return Err(Failure::interrupted()),
            () = host.stop() => {}
        }
        metrics.tracer().flush().await;
        served
    }

    async fn over_stdio<F>(
        &self,
        host: &Arc<Host>,
        metrics: &Metrics,
        told: &Told,
        meanwhile: impl FnOnce(Arc<Host>, Option<String>) -> F,
    ) -> Result<Ended, Failure>
    where
        F: Future<Output = ()>,
    {
        let server = host.server().build()?;
        let transport = StdioTransport::open(Policy::default().line_bytes)?;
        let serving = async {
            tokio::select! {
                () = host.look_around() => {}
                () = told.times(1) => {}
            }
            Ok(server.serve_until(transport, to_end(told, host, metrics)).await?)
        };
        Ok(until_told_twice(told, serving, meanwhile(Arc::clone(host), None)).await)
    }

    async fn over_http<F>(
        &self,
        bound: Bound,
        host: &Arc<Host>,
        metrics: &Metrics,
        told: &Told,
        meanwhile: impl FnOnce(Arc<Host>, Option<String>) -> F,
    ) -> Ended
    where
        F: Future<Output = ()>,
    {
        let url = self.public_url(&bound);
        let serving = async { Ok(bound.serve_until(to_end(told, host, metrics)).await?) };
        until_told_twice(told, serving, meanwhile(Arc::clone(host), Some(url))).await
    }

    /// Listens, and says where.
    async fn bound(
        &self,
        http: HttpServer,
        address: &str,
        metrics: &Metrics,
        logins: &Logins,
    ) -> Result<Bound, Failure> {
        let counted = http.clone();
        metrics.count_sessions(move || counted.sessions());
        let bound = http.bind(address).await.map_err(|error| {
            let hint = "another port may be free; port 0 takes any that is".to_owned();
            Failure::from(error).hint(Some(hint))
        })?;
        logins.reached_at(&self.public_url(&bound))?;
        note(&format!("listening on {}", bound.url()));
        Ok(bound)
    }

    fn public_url(&self, bound: &Bound) -> String {
        self.face.public_url.clone().unwrap_or_else(|| bound.url())
    }

    /// The names that it answers to. Those of this machine for itself stay where others come beside them: whoever is here
    /// looks after it.
    async fn named(&self, http: HttpServer, address: &str) -> Result<HttpServer, Failure> {
        let public = self.face.public_url.as_deref().and_then(address::authority);
        let mut names: Vec<&str> = self.face.hosts.iter().map(String::as_str).chain(public).collect();
        if !names.is_empty() && address::is_this_machine(address).await? {
            names.extend(address::LOOPBACK);
        }
        Ok(names.into_iter().fold(http, |http, name| http.host(name)))
    }

    fn http(
        &self,
        mut http: HttpServer,
        metrics: &Arc<Metrics>,
        logins: &Arc<Logins>,
        protection: Option<Protection>,
    ) -> HttpServer {
        for origin in &self.face.origins {
            http = http.origin(origin);
        }
        let doors = Doors::new(Arc::clone(metrics));
        for path in Doors::PATHS {
            let doors = doors.clone();
            http = http.route(path, move |request| {
                let answer = doors.answer(request.uri().path());
                Box::pin(std::future::ready(answer))
            });
        }
        match protection {
            Some(protection) => http.route("/login", logins.pages()).protect(protection),
            None => http,
        }
    }

    /// Whose tokens are taken, and where these people's own logins are kept.
    fn protection(&self, issuer: &str) -> Result<(Protection, Arc<Logins>), Failure> {
        let mut protection = Protection::new(issuer);
        if let Some(url) = &self.face.public_url {
            protection = protection.resource(url);
        }
        let (protection, verifier) = protection.share_verifier()?;
        let folder = self.state.join("logins");
        let mut door = Doorkeeper::new(verifier);
        if let Some(id) = &self.face.client_id {
            door = door.client(id, std::env::var(SECRET).ok().map(Secret::new));
        }
        Ok((protection, Logins::for_everybody(door, &folder, default_store()?)))
    }
}

/// How serving ended.
enum Ended {
    /// What had begun was finished, as far as the grace allowed.
    InOrder(Result<(), Failure>),
    /// Nobody wants to wait.
    AtOnce,
}

/// Ready when no more is to be begun.
async fn to_end(told: &Told, host: &Host, metrics: &Metrics) {
    told.times(1).await;
    metrics.drain();
    host.ask_no_more();
    tracing::info!("told to end; what has begun is finished first");
}

/// Serves, and does beside it what has no end of its own. A second word to end is not to be waited for.
async fn until_told_twice(
    told: &Told,
    serving: impl Future<Output = Result<(), Failure>>,
    meanwhile: impl Future<Output = ()>,
) -> Ended {
    let beside = async {
        meanwhile.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        served = serving => Ended::InOrder(served),
        () = told.times(2) => Ended::AtOnce,
        () = beside => Ended::AtOnce,
    }
}

/// What the environment says about traces.
fn tracer() -> Result<Tracer, Failure> {
    let settings = Settings::from_variables(|name| std::env::var(name).ok());
    match settings.map_err(|why| Failure::usage(safe_line(&why)))? {
        None => Ok(Tracer::default()),
        Some(settings) => Tracer::start(settings).map_err(Failure::usage),
    }
}
