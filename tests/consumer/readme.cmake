# Fails unless README holds PROGRAM to the letter: what is shown there has been compiled and run.
file(READ ${README} readme)
file(READ ${PROGRAM} program)
string(FIND "${readme}" "${program}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "README.md does not show tests/consumer/consumer.cc as it is")
endif()
