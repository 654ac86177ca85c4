use contexture::Client;

use crate::exit::Failure;
use crate::options::{Subscribing, Words};

pub(super) async fn subscribe(_: Client, _: Words, _: &Subscribing) -> Result<(), Failure> {
    Err(Failure::usage("not built yet"))
}
