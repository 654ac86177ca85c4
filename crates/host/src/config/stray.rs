//! Rules that match nothing that is configured. They are no mistakes, for a server may come later; but whoever wrote one to
//! forbid something should know that it does not.

use std::path::Path;

use super::content::Settings;
use super::draft::Found;
use super::fault::Fault;
use super::nearest::nearest;
use crate::consent::Rule;
use crate::names::{behind, slug};

/// Nobody reads more of a file.
const MOST: usize = 100;

/// The servers that rules can be about, chosen or not.
pub(super) struct Known {
    /// Each name, and what clients see before the names of its tools, if anything.
    servers: Vec<(String, Option<String>)>,
}

impl Known {
    /// Also those whose entry is broken: what is wrong with them has been said.
    pub(super) fn of(candidates: &[Found], faults: &[Fault]) -> Self {
        let whole = candidates.iter().map(|Found { entry, .. }| {
            let slug = entry.prefix.then(|| slug(&entry.name));
            (entry.name.clone(), slug)
        });
        let broken = faults.iter().filter_map(|fault| Some((fault.server.clone()?, None)));
        Self { servers: whole.chain(broken).collect() }
    }

    /// Says which rules of a file match nothing, and why.
    pub(super) fn look_through(&self, file: &Path, settings: &Settings, faults: &mut Vec<Fault>) {
        let Some(policy) = &settings.policy else { return };
        let rules = policy.rules.iter().enumerate();
        let missed = rules.filter_map(|(at, rule)| Some((at, self.missed(rule)?)));
        faults.extend(missed.take(MOST).map(|(at, what)| {
            let what = format!("rule {} of the policy {what}", at + 1);
            Fault::notice(file, settings.rule_lines.get(at).copied(), what)
        }));
    }

    fn missed(&self, rule: &Rule) -> Option<String> {
        let meant = |server: &str| rule.server.as_ref().is_none_or(|wanted| wanted.matches(server));
        let names = || self.servers.iter().map(|(name, _)| name.as_str());
        if let Some(wanted) = &rule.server
            && !self.servers.is_empty()
            && !names().any(meant)
        {
            let near = nearest(wanted.as_str(), names());
            let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            return Some(format!("matches nothing: no server {:?} is configured{near}", wanted.as_str()));
        }
        let written = [("tool", &rule.tool), ("prompt", &rule.prompt)];
        let mut written = written.into_iter().filter_map(|(key, name)| Some((key, name.as_ref()?.as_str())));
        written.find_map(|(key, shown)| {
            let (server, own) = self.servers.iter().find_map(|(server, slug)| {
                let own = behind(slug.as_deref()?, shown)?;
                meant(server).then_some((server, own))
            })?;
            Some(format!(
                "has the {key} {shown:?} as clients see it; rules name it as its server does: \"server\": {server:?}, \"{key}\": {own:?}"
            ))
        })
    }
}
