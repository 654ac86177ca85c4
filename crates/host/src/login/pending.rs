//! Logins that were asked for and have not ended: a bounded table.
//!
//! A pending login belongs to the person whose call needed it. The link to it is a secret of 256 bits; its page belongs to
//! the browser that opened it, once that has proven to be the person's. People push out only logins of their own, and
//! where there is no room at all, the newest is refused. Everything ends after ten minutes.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use contexture::auth::{CallbackParams, Secret};
use contexture::server::Session;
use contexture::{Principal, Scopes};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle};

use super::person::Caller;
use crate::config::Login;

/// How long somebody may take.
pub(super) const TIME: Duration = Duration::from_secs(10 * 60);
/// Pending logins of everybody.
const MOST: usize = 1_000;
/// Pending logins of one person.
const EACH: usize = 8;
/// How often a page may begin anew.
const VISITS: u32 = 20;

/// What something secret is filed as.
pub(super) type Filed = [u8; 32];

pub(super) fn filed(secret: &str) -> Filed {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    bytes
}

/// Nobody guesses it; fit for an address.
pub(super) fn unguessable() -> Option<String> {
    let mut bytes = [0_u8; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A server that somebody logs in to.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) login: Login,
}

/// What has to happen before a call can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted(pub(super) Want);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Want {
    /// The person is logged in, and agrees that this client uses that.
    Consent,
    /// The person logs in, for these scopes beside the usual ones.
    Login(Scopes),
}

impl Want {
    /// Names the question within a call, which may have to ask for one after the other.
    pub(super) fn key(&self, server: &str) -> String {
        match self {
            Self::Consent => format!("consent:{server}"),
            Self::Login(_) => format!("login:{server}"),
        }
    }

    /// Whether whoever does this has done the other.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Consent) => true,
            (Self::Consent, Self::Login(_)) => false,
            (Self::Login(ours), Self::Login(theirs)) => ours.covers(theirs),
        }
    }
}

/// How a login stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing came of it yet.
    Open,
    /// They are in.
    In,
    /// It did not work; they may try again.
    Failed(String),
    /// They said no.
    Denied,
}

/// A login that was asked for.
pub(super) struct Pending {
    pub(super) target: Target,
    pub(super) person: Principal,
    pub(super) caller: Caller,
    pub(super) want: Want,
    /// Where the person goes first.
    pub(super) url: String,
    /// What clients know it by. It opens nothing.
    pub(super) id: String,
    pub(super) standing: watch::Sender<Standing>,
    /// Whom to tell when the person is done.
    pub(super) session: Option<Session>,
    pub(super) page: Page,
    /// On this machine: what waits for the person to come back.
    pub(super) listening: Option<Ending>,
    began: Instant,
}

/// The page of a pending login.
#[derive(Default)]
pub(super) struct Page {
    pub(super) browser: Option<Browser>,
    /// Whether the person has agreed: from then on no other browser opens it.
    pub(super) agreed: bool,
    pub(super) away: Option<Away>,
    visits: u32,
}

/// The browser that a page is open in.
pub(super) struct Browser {
    pub(super) cookie: Filed,
    /// What forms of our own page carry.
    pub(super) token: Secret,
    /// Whether the person was proven to be who the link was made for.
    pub(super) proven: bool,
}

/// Somebody who was sent to an authorization server.
pub(super) struct Away {
    pub(super) state: Filed,
    pub(super) back: oneshot::Sender<CallbackParams>,
    pub(super) reason: Reason,
    /// What waits for them ends with this.
    pub(super) task: Ending,
}

/// Why somebody was sent away.
pub(super) enum Reason {
    /// To say who they are.
    Identity(oneshot::Receiver<Result<Principal, String>>),
    /// To log in to the server behind us.
    Login,
}

/// A task that ends when nobody waits for it any more.
pub(super) struct Ending(Option<AbortHandle>);

impl Ending {
    pub(super) fn of<T>(task: &JoinHandle<T>) -> Self {
        Self(Some(task.abort_handle()))
    }

    /// From here on the task ends by itself.
    pub(super) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// What whoever asks for a login gets to know of it.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) id: String,
    pub(super) standing: watch::Receiver<Standing>,
}

impl Pending {
    pub(super) fn new(
        target: Target,
        person: Principal,
        caller: Caller,
        want: Want,
        url: String,
        id: String,
    ) -> Self {
        Self {
            target,
            person,
            caller,
            want,
            url,
            id,
            standing: watch::Sender::new(Standing::Open),
            session: None,
            page: Page::default(),
            listening: None,
            began: Instant::now(),
        }
    }

    pub(super) fn link(&self) -> Link {
        Link { url: self.url.clone(), id: self.id.clone(), standing: self.standing.subscribe() }
    }

    /// Counts one more way to an authorization server; `false` if there were too many.
    pub(super) fn may_leave(&mut self) -> bool {
        self.page.visits += 1;
        self.page.visits <= VISITS
    }

    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.began) >= TIME
    }
}

/// All pending logins, by the secret in their links.
#[derive(Default)]
pub(super) struct Table {
    entries: HashMap<Filed, Pending>,
    /// How the last ones ended, by what clients know them by: a call may come back only after that.
    ended: VecDeque<(String, Standing)>,
}

impl Table {
    pub(super) fn get(&mut self, name: &Filed) -> Option<&mut Pending> {
        self.purge();
        self.entries.get_mut(name)
    }

    /// The login of somebody who comes back with this state.
    pub(super) fn away(&mut self, state: &Filed) -> Option<(Filed, &mut Pending)> {
        self.purge();
        let is_this = |pending: &Pending| pending.page.away.as_ref().is_some_and(|away| away.state == *state);
        let found = self.entries.iter_mut().find(|(_, pending)| is_this(pending));
        found.map(|(name, pending)| (*name, pending))
    }

    /// One that was asked for before and will do for this, too.
    pub(super) fn same(
        &mut self,
        target: &Target,
        person: &Principal,
        caller: &Caller,
        want: &Want,
    ) -> Option<&mut Pending> {
        self.purge();
        self.entries.values_mut().find(|pending| {
            pending.person == *person
                && pending.caller.id == caller.id
                && pending.target.url == target.url
                && pending.target.login == target.login
                && pending.want.covers(want)
        })
    }

    /// How the login stands that clients know by this id; nothing if that is too long ago.
    pub(super) fn standing(&mut self, id: &str) -> Option<Standing> {
        self.purge();
        if self.entries.values().any(|pending| pending.id == id) {
            return Some(Standing::Open);
        }
        self.ended.iter().rev().find(|(known, _)| known == id).map(|(_, standing)| standing.clone())
    }

    /// Adds one; `false` if there is no room.
    pub(super) fn add(&mut self, name: Filed, pending: Pending) -> bool {
        self.purge();
        let theirs = self.entries.iter().filter(|(_, other)| other.person == pending.person);
        let oldest = theirs.clone().min_by_key(|(_, other)| other.began).map(|(name, _)| *name);
        if theirs.count() >= EACH
            && let Some(oldest) = oldest
        {
            self.entries.remove(&oldest);
        }
        if self.entries.len() >= MOST {
            return false;
        }
        self.entries.insert(name, pending);
        true
    }

    pub(super) fn remove(&mut self, name: &Filed) -> Option<Pending> {
        self.entries.remove(name)
    }

    /// Removes one that ended like this.
    pub(super) fn end(&mut self, name: &Filed, standing: &Standing) -> Option<Pending> {
        let pending = self.entries.remove(name)?;
        if self.ended.len() >= MOST {
            self.ended.pop_front();
        }
        self.ended.push_back((pending.id.clone(), standing.clone()));
        Some(pending)
    }

    fn purge(&mut self) {
        let now = Instant::now();
        self.entries.retain(|_, pending| !pending.is_over(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(person: usize, server: usize) -> Pending {
        let target = Target {
            name: "s".into(),
            url: format!("https://{server}.example/mcp"),
            login: Login::default(),
        };
        let caller = Caller { id: String::new(), says: None };
        let person = Principal::new("https://issuer.example", person.to_string());
        Pending::new(target, person, caller, Want::Consent, String::new(), String::new())
    }

    #[test]
    fn people_push_out_only_their_own() {
        let mut table = Table::default();
        for person in 0..MOST {
            assert!(table.add(filed(&format!("{person}")), pending(person, 0)), "{person}");
        }
        assert!(!table.add(filed("one more"), pending(MOST, 0)));
        for server in 1..EACH {
            assert!(!table.add(filed(&format!("0 {server}")), pending(0, server)), "{server}");
        }
        assert_eq!(table.entries.len(), MOST);
    }

    #[test]
    fn one_person_has_a_few() {
        let mut table = Table::default();
        for server in 0..3 * EACH {
            assert!(table.add(filed(&server.to_string()), pending(0, server)));
        }
        assert_eq!(table.entries.len(), EACH);
        assert!(table.get(&filed("0")).is_none() && table.get(&filed(&(3 * EACH - 1).to_string())).is_some());
    }

    #[test]
    fn more_scopes_are_another_login() {
        let login = |text| Want::Login(Scopes::parse(text));
        assert!(login("a b").covers(&login("a")) && login("").covers(&Want::Consent));
        assert!(!login("a").covers(&login("a b")) && !Want::Consent.covers(&login("")));
    }
}
