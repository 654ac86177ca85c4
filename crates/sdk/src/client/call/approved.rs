//! What the application decides about a request before it is made, whichever door it came through.
//!
//! A request is judged by its method: a tool that is called by [`Client::request`](crate::Client::request) needs
//! the same approval as one that is called by name.

use super::{Exchanges, tool};
use crate::client::approval::{Approval, ResourceRead};
use crate::client::live::Live;
use crate::client::payload::Payload;
use crate::model::Method;
use crate::{Error, Result};

/// Asks whoever decides about this request; [`Error::Declined`] if it is not to be made.
pub(super) async fn ask(live: &Live, exchanges: &mut Exchanges<'_>) -> Result<()> {
    let config = &exchanges.client.hub().config;
    let decision = match (exchanges.known, &config.approve, &config.approve_reads) {
        (Some(Method::ToolsCall), Some(approve), _) => {
            let name = text(exchanges.payload, "name");
            approve(tool::describe(exchanges.client, live, &name, exchanges.payload)?)
        }
        (Some(Method::ResourcesRead), _, Some(approve)) => {
            let server = live.session()?.server.clone();
            approve(ResourceRead { server, uri: text(exchanges.payload, "uri") })
        }
        _ => return Ok(()),
    };
    // In a box, as everything that not every call has.
    match Box::pin(exchanges.options.cancel.unless(decision)).await? {
        Approval::Allow => Ok(()),
        Approval::Deny => Err(Error::Declined),
    }
}

/// A member that is text; none if it is not, which no server will take for a name.
fn text(payload: &Payload, member: &str) -> String {
    payload.member(member).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
