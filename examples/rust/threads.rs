// SPDX-License-Identifier: Apache-2.0
//! Threads of libmltp from Rust: closures on VPs.
//!
//! rustc --edition 2021 threads.rs -L DIR -l mltp
//!
//! The main thread is bound: Rust keeps its own thread's state with the kernel thread.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

#[repr(C)]
struct InitAttr {
    size: usize,
    vps: c_int,
    bound_main: c_int,
}

type UserFn = extern "C" fn(*mut c_void) -> *mut c_void;

extern "C" {
    fn mltp_init_with(attr: *const InitAttr) -> c_int;
    fn mltp_finalize() -> c_int;
    fn mltp_create(thread: *mut *mut c_void, attr: *const c_void, func: UserFn, arg: *mut c_void) -> c_int;
    fn mltp_join(thread: *mut c_void, result: *mut *mut c_void) -> c_int;
    fn mltp_yield();
    fn mltp_lock_init(lock: *mut Space, class: c_int, name: *const c_char) -> c_int;
    fn mltp_lock(lock: *mut Space) -> c_int;
    fn mltp_unlock(lock: *mut Space) -> c_int;
}

fn check(error: c_int) {
    assert_eq!(error, 0, "libmltp: error {error}");
}

/// Room for a mltp_lock_t, which has 64 bytes.
#[repr(C, align(64))]
struct Space([u64; 16]);

/// A value under a lock whose waiters park. A guard would let std::mem::forget() keep it locked.
struct Mutex<T> {
    lock: Box<std::cell::UnsafeCell<Space>>,
    value: std::cell::UnsafeCell<T>,
}

unsafe impl<T: Send> Sync for Mutex<T> {}
unsafe impl<T: Send> Send for Mutex<T> {}

impl<T> Mutex<T> {
    fn new(value: T) -> Self {
        let lock = Box::new(std::cell::UnsafeCell::new(Space([0; 16])));
        check(unsafe { mltp_lock_init(lock.get(), 0, null()) });
        Mutex { lock, value: std::cell::UnsafeCell::new(value) }
    }

    fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        check(unsafe { mltp_lock(self.lock.get()) });
        let result = change(unsafe { &mut *self.value.get() });
        check(unsafe { mltp_unlock(self.lock.get()) });
        result
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// A panic cannot leave it: a function of extern "C" aborts then.
extern "C" fn run(work: *mut c_void) -> *mut c_void {
    let work = unsafe { Box::from_raw(work as *mut Work) };
    work();
    null_mut()
}

fn spawn(work: impl FnOnce() + Send + 'static) -> *mut c_void {
    let work: Box<Work> = Box::new(Box::new(work));
    let mut thread = null_mut();
    check(unsafe { mltp_create(&mut thread, null(), run, Box::into_raw(work) as *mut c_void) });
    thread
}

fn main() {
    let attr = InitAttr { size: std::mem::size_of::<InitAttr>(), vps: 0, bound_main: 1 };
    check(unsafe { mltp_init_with(&attr) });
    let sum = Arc::new(Mutex::new(0u64));
    let yields = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (1..=1000)
        .map(|number| {
            let (sum, yields) = (sum.clone(), yields.clone());
            spawn(move || {
                let text = format!("{number}");
                unsafe { mltp_yield() };
                yields.fetch_add(1, Ordering::Relaxed);
                sum.with(|sum| *sum += text.parse::<u64>().unwrap());
            })
        })
        .collect();
    for thread in threads {
        check(unsafe { mltp_join(thread, null_mut()) });
    }
    println!("1 + ... + 1000 = {} after {} yields", sum.with(|sum| *sum), yields.load(Ordering::Relaxed));
    check(unsafe { mltp_finalize() });
}
