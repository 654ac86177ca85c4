use contexture::Client;

use crate::exit::Failure;
use crate::options::{Whole, Words};

pub(super) async fn logs(_: Client, _: Words, _: &Whole) -> Result<(), Failure> {
    Err(Failure::usage("not built yet"))
}
