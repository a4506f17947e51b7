//! Other programs, started and waited for: commands of the configuration, the installed git, and packets
//! that other programs send; and the directory in which a request is made, since programs run there.
//!
//! No other module below the doors spawns the installed git. A command runs only where a caller has decided
//! that the attributes or the configuration ask for it.

pub mod command;
pub mod directory;
pub mod git;
pub mod pkt_line;
