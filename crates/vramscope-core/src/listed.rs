//! Enums that list their variants, so that no other code has to repeat the list.

/// An enum without fields, with its variants in `ALL`, in order.
macro_rules! listed {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident,)* }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All variants, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}
pub(crate) use listed;
