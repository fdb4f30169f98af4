//! Enums that know all their variants, so that no other file has to name them again.

/// An enum without fields, with `ALL`: its variants in their order.
macro_rules! listed {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident,)* }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them, in their order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}
pub(crate) use listed;
