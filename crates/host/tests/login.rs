//! People's own logins at servers behind a gateway: two authorization servers (the gateway's and the other server's), a
//! protected gateway, a protected server that notes every token it is shown, and people at browsers.
//!
//! The gateway is the smallest that there can be: what is tested is who may log in as whom, not what is forwarded.

#[path = "login/browser.rs"]
mod browser;
#[path = "login/clients.rs"]
mod clients;
#[path = "login/here.rs"]
mod here;
#[path = "login/people.rs"]
mod people;
#[path = "login/stage.rs"]
mod stage;
#[path = "login/strangers.rs"]
mod strangers;
