//! State and effects of components, whose code is compiled once.
//!
//! Yew's own hooks are compiled anew for every type that they keep and for every closure, which made a tenth of the
//! module. These keep their values behind one type.

#![expect(clippy::disallowed_methods, reason = "it calls what it replaces")]

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

use yew::functional::{Hook, HookContext, TearDown};
use yew::{UseStateHandle, UseStateSetter};

/// A value of any type that can be compared.
trait Value {
    fn as_any(&self) -> &dyn Any;
    fn is(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + 'static> Value for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

#[derive(Clone)]
struct AnyValue(Rc<dyn Value>);

impl AnyValue {
    fn new(value: impl PartialEq + 'static) -> Self {
        Self(Rc::new(value))
    }

    fn get<T: 'static>(&self) -> &T {
        #[expect(
            clippy::expect_used,
            reason = "each is kept and read with the type of one call"
        )]
        (*self.0).as_any().downcast_ref().expect("its own type")
    }
}

impl PartialEq for AnyValue {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || self.0.is((*other.0).as_any())
    }
}

/// A component's state. Setting it to an equal value renders nothing.
pub(crate) struct Kept<T> {
    handle: UseStateHandle<AnyValue>,
    of: PhantomData<T>,
}

impl<T: PartialEq + 'static> Kept<T> {
    pub(crate) fn set(&self, value: T) {
        self.handle.set(AnyValue::new(value));
    }

    /// Only sets, and stays equal while the component lives.
    pub(crate) fn setter(&self) -> Setter<T> {
        Setter {
            setter: self.handle.setter(),
            of: PhantomData,
        }
    }
}

impl<T: 'static> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.handle.get()
    }
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
            of: PhantomData,
        }
    }
}

impl<T> PartialEq for Kept<T> {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle
    }
}

/// Sets a component's state.
pub(crate) struct Setter<T> {
    setter: UseStateSetter<AnyValue>,
    of: PhantomData<T>,
}

impl<T: PartialEq + 'static> Setter<T> {
    pub(crate) fn set(&self, value: T) {
        self.setter.set(AnyValue::new(value));
    }
}

impl<T> Clone for Setter<T> {
    fn clone(&self) -> Self {
        Self {
            setter: self.setter.clone(),
            of: PhantomData,
        }
    }
}

impl<T> PartialEq for Setter<T> {
    fn eq(&self, other: &Self) -> bool {
        self.setter == other.setter
    }
}

/// State of a component, `first` before it is set. As `yew::use_state_eq`.
pub(crate) fn use_kept<'a, T: PartialEq + 'static>(
    first: impl FnOnce() -> T + 'a,
) -> impl Hook<Output = Kept<T>> {
    struct UseKept<'a, T> {
        first: Box<dyn FnOnce() -> AnyValue + 'a>,
        of: PhantomData<T>,
    }

    impl<T> Hook for UseKept<'_, T> {
        type Output = Kept<T>;

        fn run(self, context: &mut HookContext) -> Kept<T> {
            Kept {
                handle: yew::use_state_eq(self.first).run(context),
                of: PhantomData,
            }
        }
    }

    UseKept {
        first: Box::new(|| AnyValue::new(first())),
        of: PhantomData,
    }
}

/// Runs an effect after the first rendering, and after each one with another value of what it depends on. As
/// `yew::use_effect_with`.
pub(crate) fn use_effect_on<D, F, T>(on: D, effect: F) -> impl Hook<Output = ()>
where
    D: PartialEq + 'static,
    F: FnOnce(&D) -> T + 'static,
    T: TearDown,
{
    let effect: Effect = Box::new(|on| {
        let end = effect(on.get());
        Box::new(|| end.tear_down())
    });
    yew::use_effect_with(AnyValue::new(on), effect)
}

type Effect = Box<dyn FnOnce(&AnyValue) -> Box<dyn FnOnce()>>;
