//! Whose connection it is: who may share one with whom, and what its server may ask of them.
//!
//! A legacy server does not say which call its question belongs to, so a connection over which it can ask belongs to one
//! person. Nothing here lets two principals meet, unless the configuration says that everybody shares the server, and then
//! it can ask none of them. Where it is not known who somebody is, or connections are a session's and there is none, a call
//! has its connection to itself.

use std::sync::{Arc, OnceLock};

use contexture::Principal;
use contexture::engine::Peer;
use contexture::model::{
    ClientCapabilities, ElicitationCapability, JsonObject, ListChangedCapability, SamplingCapability,
};
use contexture::revision::Revision;
use contexture::server::{Context, Session};

use crate::config::{LoginFor, RootsFor, ServerEntry, Sharing, TransportSpec};

/// What a server is told that it may ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Declares {
    /// A person, by a form.
    pub form: bool,
    /// A person, by a URL.
    pub url: bool,
    /// A model.
    pub sampling: bool,
    /// A model, with tools.
    pub sampling_tools: bool,
    /// Directories.
    pub roots: bool,
    /// Changes of those are told, so that a server may keep what it was answered. Who has no session tells nothing,
    /// and the next on the same connection may be somebody else.
    pub roots_told: bool,
}

impl Declares {
    /// What may be asked on behalf of this client: what it can be asked itself, and what is answered here.
    pub fn of(peer: &Peer, entry: &ServerEntry, has_models: bool) -> Self {
        let client = Self::of_client(peer, entry);
        let here = Self::answered_here(entry, has_models);
        Self {
            form: client.form,
            url: client.url,
            sampling: client.sampling || here.sampling,
            sampling_tools: client.sampling_tools || (here.sampling_tools && !client.sampling),
            roots: client.roots || here.roots,
            roots_told: client.roots_told || here.roots_told,
        }
    }

    /// What is answered here, whoever the client is.
    fn answered_here(entry: &ServerEntry, has_models: bool) -> Self {
        let is_fixed = matches!(entry.roots, RootsFor::Fixed(_));
        Self {
            sampling: has_models,
            sampling_tools: has_models,
            roots: is_fixed,
            roots_told: is_fixed,
            ..Self::default()
        }
    }

    /// What the client itself would be asked.
    fn of_client(peer: &Peer, entry: &ServerEntry) -> Self {
        let (rules, client) = (peer.revision.rules(), &peer.capabilities);
        let elicitation = client.elicitation.as_ref().filter(|_| rules.has_elicitation());
        let roots = client.roots.as_ref().filter(|_| entry.roots == RootsFor::Client);
        Self {
            form: elicitation.is_some_and(ElicitationCapability::has_form),
            url: rules.has_url_elicitation && elicitation.is_some_and(ElicitationCapability::has_url),
            sampling: client.sampling.is_some(),
            sampling_tools: rules.has_sampling_tools
                && client.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some()),
            roots: roots.is_some(),
            roots_told: rules.has_server_requests && roots.is_some_and(ListChangedCapability::announces),
        }
    }

    /// As capabilities of a client.
    pub fn capabilities(self) -> ClientCapabilities {
        let yes = |yes: bool| yes.then(JsonObject::new);
        ClientCapabilities {
            roots: self.roots.then(|| match self.roots_told {
                true => ListChangedCapability::announced(),
                false => ListChangedCapability::default(),
            }),
            sampling: self.sampling.then(|| SamplingCapability {
                tools: yes(self.sampling_tools),
                ..SamplingCapability::default()
            }),
            elicitation: (self.form || self.url).then(|| ElicitationCapability {
                form: yes(self.form),
                url: yes(self.url),
                other: JsonObject::new(),
            }),
            ..ClientCapabilities::default()
        }
        // What a legacy server asks may have to become an input round, whose questions have keys.
        .with_question_keys()
    }

    /// The same, made once for all who declare this.
    pub fn shared(self) -> Arc<ClientCapabilities> {
        const WAYS: usize = 1 << 6;
        static MADE: [OnceLock<Arc<ClientCapabilities>>; WAYS] = [const { OnceLock::new() }; WAYS];
        let Self { form, url, sampling, sampling_tools, roots, roots_told } = self;
        let parts = [form, url, sampling, sampling_tools, roots, roots_told];
        let at = parts.into_iter().fold(0, |at, part| 2 * at + usize::from(part));
        Arc::clone(MADE[at].get_or_init(|| Arc::new(self.capabilities())))
    }

    /// Whether there is anything at all.
    pub fn is_some(self) -> bool {
        self != Self::default()
    }
}

/// Somebody on whose behalf a server is used.
#[derive(Debug, Clone)]
pub struct Audience {
    /// Who it is; the identity alone.
    pub(super) principal: Principal,
    /// The legacy session that the call belongs to, by its number.
    pub(super) session: Option<(u64, Session)>,
    /// What the server may ask.
    pub(super) declares: Declares,
    /// What of it is answered here, so that it needs no client.
    pub(super) here: Declares,
    /// The client itself can be asked something.
    asks_client: bool,
    /// The client has asked for log messages. An older server does not say whose they are, nor does any over a pipe.
    hears_log: bool,
    by_pipe: bool,
    /// The lists and the login of the server are this principal's own.
    pub(super) personal: bool,
    /// For lists alone.
    lists: bool,
}

impl Audience {
    /// Those behind a call.
    pub fn of(context: &Context, entry: &ServerEntry, has_models: bool, personal: bool) -> Self {
        let peer = context.peer();
        let session = context.session_number().zip(context.session());
        Self {
            principal: context.principal().identity(),
            session,
            declares: Declares::of(peer, entry, has_models),
            here: Declares::answered_here(entry, has_models),
            asks_client: Declares::of_client(peer, entry).is_some(),
            hears_log: context.asked_for_logs(),
            by_pipe: matches!(entry.transport, TransportSpec::Stdio { .. }),
            personal,
            lists: false,
        }
    }

    /// Whoever runs this process: for lists that are fetched before anybody came.
    pub fn local(entry: &ServerEntry, has_models: bool, personal: bool) -> Self {
        let here = Declares::answered_here(entry, has_models);
        let principal = Principal::local();
        Self {
            principal,
            session: None,
            declares: here,
            here,
            asks_client: false,
            hears_log: false,
            by_pipe: matches!(entry.transport, TransportSpec::Stdio { .. }),
            personal,
            lists: true,
        }
    }

    /// The one whose connection it was, as far as lists go.
    pub(super) fn of_connection(entry: &ServerEntry, principal: Option<&Principal>, personal: bool) -> Self {
        let local = Self::local(entry, false, personal);
        let principal = principal.cloned().unwrap_or(local.principal.clone());
        Self { principal: whose_login(principal, entry, personal), ..local }
    }

    /// The same people, as far as lists go. Servers choose what they list by what their client declares, so for this all
    /// is declared that can ever be passed on; what is asked outside of any call is declined.
    pub(super) fn listing(&self, entry: &ServerEntry) -> Self {
        let roots = entry.roots != RootsFor::None;
        let declares = Declares {
            form: true,
            url: true,
            sampling: true,
            sampling_tools: true,
            roots,
            roots_told: roots,
        };
        let principal = whose_login(self.principal.clone(), entry, self.personal);
        Self {
            principal,
            session: None,
            declares,
            asks_client: false,
            hears_log: false,
            lists: true,
            ..self.clone()
        }
    }

    /// Whose lists they see: everybody's, or their own.
    pub fn circle(&self) -> Option<Principal> {
        self.personal.then(|| self.principal.clone())
    }

    /// Whether this is for lists alone, and not for anybody's calls.
    pub(super) fn is_listing(&self) -> bool {
        self.lists
    }

    /// What the server may ask during a call of theirs.
    pub fn declares(&self) -> Declares {
        self.declares
    }

    /// Which connection is theirs, at a server of this revision; of one that is not known yet, as if it could ask.
    pub(super) fn key(&self, sharing: Sharing, revision: Option<Revision>) -> Key {
        let asks = revision.is_none_or(|revision| revision.rules().has_server_requests);
        if sharing == Sharing::Everybody && !self.personal {
            // Whoever is asked would be asked for somebody else.
            let here = if self.asks_client { self.here } else { self.declares };
            let declares = if asks { here } else { Declares::default() };
            return Key { principal: None, session: None, declares, exclusive: false, once: false };
        }
        // Two of them may be two people.
        let strangers = self.principal.is_anonymous();
        let own = strangers && ((asks && self.asks_client) || (self.hears_log && (asks || self.by_pipe)));
        let by_session = sharing == Sharing::Session || own;
        let session = self.session.as_ref().map(|(number, _)| *number).filter(|_| by_session);
        // A call without a session is all that there is of it. Lists are nobody's call.
        let once = sharing == Sharing::Session && session.is_none() && !self.lists;
        Key {
            principal: Some(self.principal.clone()),
            session,
            declares: if asks { self.declares } else { Declares::default() },
            exclusive: once || (own && session.is_none()),
            once,
        }
    }
}

/// In whose name lists are fetched. Those that everybody sees must not be fetched with a login that somebody has, or gets
/// meanwhile: they would be that one's.
fn whose_login(principal: Principal, entry: &ServerEntry, personal: bool) -> Principal {
    let has_own = matches!(entry.login, LoginFor::User(_)) && !principal.issuer().is_empty();
    if has_own && !personal { Principal::anonymous() } else { principal }
}

/// Which connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Whose it is; nobody's own if everybody shares it.
    pub(super) principal: Option<Principal>,
    pub(super) session: Option<u64>,
    pub(super) declares: Declares,
    /// One call at a time, and several connections: who it is was not proven, so two calls may be of two people.
    pub(super) exclusive: bool,
    /// One call and no other.
    pub(super) once: bool,
}

impl Key {
    /// Whether all that a server says on it is for one person.
    pub(super) fn is_of_one(&self) -> bool {
        let proven = self.principal.as_ref().is_some_and(|principal| !principal.is_anonymous());
        proven || self.session.is_some() || self.exclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;

    fn entry(login: LoginFor) -> ServerEntry {
        let transport = TransportSpec::Http {
            url: "https://up.example/mcp".into(),
            headers: Vec::new(),
            sse: false,
            socket: None,
        };
        let mut entry = ServerEntry::new("up", transport, Origin::command_line());
        entry.login = login;
        entry
    }

    /// Whoever has a login there may get other lists; those must not become everybody's.
    #[test]
    fn lists_for_everybody_are_fetched_in_nobodys_name() {
        let ada = Principal::new("https://issuer.example", "ada");
        let own = entry(LoginFor::User(Default::default()));
        let in_whose_name = |entry: &ServerEntry, personal: bool| {
            let over = Audience::of_connection(entry, Some(&ada), personal);
            let asked = Audience { principal: ada.clone(), ..over.clone() }.listing(entry);
            (over.principal, asked.principal)
        };
        let nobody = Principal::anonymous();
        assert_eq!(in_whose_name(&own, false), (nobody.clone(), nobody));
        assert_eq!(in_whose_name(&own, true), (ada.clone(), ada.clone()));
        assert_eq!(in_whose_name(&entry(LoginFor::None), false), (ada.clone(), ada.clone()));
    }
}
