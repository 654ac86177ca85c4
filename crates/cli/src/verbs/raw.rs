use contexture::Client;

use crate::exit::Failure;
use crate::options::{Raw, Words};

pub(super) async fn raw(_: Client, _: Words, _: &Raw) -> Result<(), Failure> {
    Err(Failure::usage("not built yet"))
}
