// Asio counts the references of a type-erased executor (any_io_executor) with a release decrement
// and an acquire fence before it deletes. ThreadSanitizer knows no fences, and takes the deletion
// for a race with the other threads' decrements. Nothing else is suppressed.

extern "C" const char* __tsan_default_suppressions();  // NOLINT: the sanitizer's name

extern "C" const char* __tsan_default_suppressions() {  // NOLINT
  return "race:boost::asio::execution::detail::shared_target_executor::~shared_target_executor\n";
}
