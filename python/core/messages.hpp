// Messages of long calls as Python warnings.
#pragma once

namespace sluice::python {

/// Takes this extension's messages from stderr: they are kept until give_messages().
void take_messages();

/// Issues the messages that were kept as warnings (UserWarning) of the Python code that called the
/// extension; what only says what a wait is for is dropped. The interpreter's lock must be held.
/// Throws pybind11::error_already_set where the user's filters make a warning an exception.
void give_messages();

/// Forgets the messages that were kept: the call that they belong to raises something else.
void drop_messages();

}  // namespace sluice::python
